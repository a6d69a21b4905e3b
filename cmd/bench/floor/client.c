/* The least that a client of a server on stdio can cost. Starts the server that its arguments name, writes each line that it
 * reads to it, reads one line back, and prints "NANOSECONDS BYTES\n" and that line. A Go client's own wake-ups would be
 * counted for the server's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char answer[8 << 20];

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
	int in[2], out[2];
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	if (argc < 2 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
		return 2;
	}
	if (fork() == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	while ((length = getline(&line, &room, stdin)) > 0) {
		size_t got = 0;
		long long began = now();
		if (write(in[1], line, length) != length) {
			return 1;
		}
		do {
			ssize_t n = read(out[0], answer + got, sizeof answer - got);
			if (n <= 0) {
				return 1;
			}
			got += n;
		} while (answer[got - 1] != '\n');
		printf("%lld %zu\n", now() - began, got);
		fwrite(answer, 1, got, stdout);
		fflush(stdout);
	}
	return 0;
}
