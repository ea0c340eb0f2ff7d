/**
 * The program of the container's HEALTHCHECK. Apart from the command line, because it is run every 30 seconds and needs two
 * small files of it. The exit code is 0 or 1, as Docker takes them; the line is shown by `docker inspect`.
 */
import { checkHealth } from './commands/healthcheck.ts'

const { ok, words } = await checkHealth(process.env.POSTHASTE_DATA_DIR ?? '/var/lib/posthaste')
process.stdout.write(`${words}\n`)
process.exitCode = ok ? 0 : 1
