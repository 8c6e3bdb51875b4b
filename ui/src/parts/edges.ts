// Whether a table goes on beyond its edges: a shadow there says so.
import { useEffect, useRef, type MutableRef } from "preact/hooks";

export function useEdges(): MutableRef<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement | null>(null);
  useEffect(() => {
    const place = box.current;
    if (!place) return;
    const look = () => {
      place.toggleAttribute("data-left", place.scrollLeft > 1);
      place.toggleAttribute("data-right", place.scrollLeft + place.clientWidth < place.scrollWidth - 1);
    };
    const watch = new ResizeObserver(look);
    watch.observe(place);
    if (place.firstElementChild) watch.observe(place.firstElementChild);
    place.addEventListener("scroll", look, { passive: true });
    return () => (watch.disconnect(), place.removeEventListener("scroll", look));
  }, []);
  return box;
}
