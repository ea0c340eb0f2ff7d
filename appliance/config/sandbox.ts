import { join } from 'node:path'
import { loadConfig, type LoadResult } from './load.ts'

/** The project folder, which contains the sandbox's data. */
const project = join(import.meta.dirname, '..', '..')

/**
 * The sandbox's configuration: everything on loopback, data in `.sandbox/` of the project. Reads environment variables
 * but no file. Its DNS server and delivery port aren't here: a running sandbox writes them to `runningSandboxFile`.
 */
export function createSandboxConfig({
  env,
  directory = join(project, '.sandbox'),
}: {
  env: NodeJS.ProcessEnv
  directory?: string
}): LoadResult {
  return loadConfig({
    env,
    defaultFile: '',
    defaults: {
      hostname: 'mail.posthaste.localhost',
      data_dir: directory,
      'http.listen': ['127.0.0.1:8025'],
      'smtp.starttls': ['127.0.0.1:0'],
      'smtp.implicit_tls': ['127.0.0.1:0'],
      'delivery.allow_networks': ['127.0.0.0/8'],
      'webhooks.allow_networks': ['127.0.0.0/8', '::1/128'],
    },
  })
}
