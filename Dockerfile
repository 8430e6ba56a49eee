# Slim image with the wm command: docker build -t treeproof . (or make image, which needs no engine)
# BASE is any image with Python 3.11 or newer, BUILD_BASE the same with its venv module and, to save a tenth of
# the size, with strip.
ARG BASE=python:3.11-slim
ARG BUILD_BASE=python:3.11
FROM ${BUILD_BASE} AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/
COPY scripts/trim.sh scripts/import_all.py scripts/
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --no-compile --require-hashes --only-binary :all: -r requirements/runtime.txt \
    && sh scripts/trim.sh /opt/venv
COPY wm wm
COPY workers workers
COPY orchestrator orchestrator
# As scripts/setup.sh does it: a path file is all that the project needs, and it needs no build tool.
RUN mkdir /opt/treeproof && cp -r wm workers orchestrator /opt/treeproof/ \
    && echo /opt/treeproof > "$(/opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/treeproof.pth" \
    && printf '#!/bin/sh\nexec /opt/venv/bin/python -P -m orchestrator.cli "$@"\n' > /opt/venv/bin/wm \
    && chmod +x /opt/venv/bin/wm \
    && /opt/venv/bin/python -P scripts/import_all.py

FROM ${BASE}
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin wm \
    && mkdir /data && chown 10001:10001 /data
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/treeproof /opt/treeproof
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    HOME=/tmp \
    WM_DATA_DIR=/data
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["wm"]
CMD ["--help"]
