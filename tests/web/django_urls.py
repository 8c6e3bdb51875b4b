"""A Django project of one page."""

from django.http import HttpResponse
from django.urls import path

urlpatterns = [path("hello", lambda request: HttpResponse("from Django"))]
