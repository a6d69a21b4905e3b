/* The floor: what running `bash -c` costs without any server. A line "N GROW COMMAND" starts N of them at once, each
 * with two pipes, reads what they print and waits for them. The answer is "NANOSECONDS BYTES\n", measured in here, so
 * that talking to this process is not counted. GROW is 1 for pipes that hold a megabyte.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256 };

extern char **environ;
static char scratch[256 << 10];
static struct pollfd ends[2 * MOST];
static pid_t children[MOST];

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static pid_t start(const char *command, int null, struct pollfd *two, int grow) {
	int out[2], err[2];
	const char *const argv[] = {"bash", "-c", command, NULL};
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		perror("pipe");
		exit(1);
	}
#ifdef F_SETPIPE_SZ
	if (grow) {
		fcntl(out[0], F_SETPIPE_SZ, 1 << 20);
	}
#endif
	pid_t pid = vfork();
	if (pid == 0) {
		setpgid(0, 0);
		dup2(null, 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		execve("/bin/bash", (char *const *)argv, environ);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	two[0] = (struct pollfd){.fd = out[0], .events = POLLIN};
	two[1] = (struct pollfd){.fd = err[0], .events = POLLIN};
	return pid;
}

static long long drain(int n) {
	long long total = 0;
	for (int open = 2 * n; open > 0;) {
		if (poll(ends, 2 * n, -1) < 0 && errno != EINTR) {
			perror("poll");
			exit(1);
		}
		for (int i = 0; i < 2 * n; i++) {
			if (!ends[i].revents) {
				continue;
			}
			ssize_t got = read(ends[i].fd, scratch, sizeof scratch);
			if (got > 0) {
				total += got;
			} else if (got == 0) {
				close(ends[i].fd);
				ends[i].fd = -1;
				open--;
			}
		}
	}
	return total;
}

int main(void) {
	static char line[1 << 20];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fgets(line, sizeof line, stdin)) {
		int n, grow, skip;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%d %d %n", &n, &grow, &skip) < 2 || n < 1 || n > MOST) {
			return 2;
		}
		long long began = now();
		for (int i = 0; i < n; i++) {
			children[i] = start(line + skip, null, &ends[2 * i], grow);
		}
		long long total = drain(n);
		for (int i = 0; i < n; i++) {
			waitpid(children[i], NULL, 0);
		}
		long long took = now() - began;
		printf("%lld %lld\n", took, total);
		fflush(stdout);
	}
	return 0;
}
