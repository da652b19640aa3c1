# Replaces the managed runtime java25: AWS's Java runtime client on a plain JDK 25. The function is in /var/task/lib.
FROM localbase/java:25
COPY lib /var/runtime/lib
COPY bootstrap /var/runtime/bootstrap
ENV LAMBDA_TASK_ROOT=/var/task LAMBDA_RUNTIME_DIR=/var/runtime TZ=:UTC LANG=C.UTF-8 PATH=/opt/java/bin:/bin:/usr/bin
WORKDIR /var/task
