# One image that can serve, migrate, or run the command line.
FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python -m venv /opt/rugnik \
 && /opt/rugnik/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY core core
COPY app app
COPY migrations migrations
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel . \
 && /opt/rugnik/bin/pip install --no-cache-dir --no-deps /wheel/*.whl

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/rugnik --create-home rugnik
COPY --from=build /opt/rugnik /opt/rugnik
ENV PATH=/opt/rugnik/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    RUGNIK_DATA_DIR=/var/lib/rugnik/data \
    RUGNIK_WITNESS=/var/lib/rugnik/witness/head
USER rugnik
WORKDIR /var/lib/rugnik
VOLUME ["/var/lib/rugnik/data", "/var/lib/rugnik/witness"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["rugnik"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
