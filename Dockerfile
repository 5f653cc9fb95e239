# One image that can serve, migrate, or run the command line. Nothing in it is ever written to, so it runs with a
# read-only root; docker-compose.yml shows the folders and secrets that it wants.

FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# Packages before sources: they change less often, and theirs is the large layer. Only wheels, so nothing is compiled.
COPY requirements.lock requirements-build.lock ./
RUN python -m venv --without-pip /opt/rugnik \
 && pip --python /opt/rugnik/bin/python install --require-hashes --only-binary=:all: --requirement=requirements.lock \
 && python -m venv --without-pip /opt/build \
 && pip --python /opt/build/bin/python install --require-hashes --only-binary=:all: --requirement=requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY rugnik rugnik
COPY app app
COPY migrations migrations
# From here on nothing is downloaded.
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /wheel \
 && pip --python /opt/rugnik/bin/python install --no-index --no-deps /wheel/rugnik-*.whl \
 && pip --python /opt/rugnik/bin/python check

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="rugnik" \
      org.opencontainers.image.description="A differential-privacy synopsis service." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# A volume that is mounted on one of these folders for the first time takes over its owner and mode.
RUN groupadd --system --gid 10001 rugnik \
 && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/rugnik rugnik \
 && install --directory --owner=rugnik --group=rugnik --mode=0700 \
      /var/lib/rugnik/data /var/lib/rugnik/witness /var/lib/rugnik/spool
COPY --from=build /opt/rugnik /opt/rugnik
ENV PATH=/opt/rugnik/bin:$PATH
# Fails the build if the command does not work, and leaves the bytecode of the standard library, which slim images lack.
RUN rugnik --help
ENV PYTHONDONTWRITEBYTECODE=1 \
    RUGNIK_DATA_DIR=/var/lib/rugnik/data \
    RUGNIK_WITNESS=/var/lib/rugnik/witness/head \
    RUGNIK_SPOOL_DIR=/var/lib/rugnik/spool
USER 10001:10001
WORKDIR /var/lib/rugnik
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["python", "-I", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/readyz'); exit(c.getresponse().status != 200)"]
ENTRYPOINT ["rugnik"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
