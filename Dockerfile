FROM python:3.11-slim-bookworm

WORKDIR /srv/changeover
COPY requirements/bootstrap.lock requirements/local.lock requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/bootstrap.lock \
    && uv pip sync --system --no-cache requirements/local.lock
COPY . .
RUN if [ -d app/translations ]; then pybabel -q compile -d app/translations; fi \
    && useradd --system changeover \
    && install -d -o changeover /var/lib/changeover
USER changeover
ENV PYTHONUNBUFFERED=1
EXPOSE 8000
CMD ["gunicorn", "wsgi:app", "--bind=0.0.0.0:8000", "--worker-class=gthread", "--threads=8", "--no-control-socket"]
