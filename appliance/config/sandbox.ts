import { join } from 'node:path'
import { loadConfig, type Loaded } from './load.ts'

/** The folder of this checkout: sandbox data live in it. */
const project = join(import.meta.dirname, '..', '..')

/**
 * The configuration of the sandbox: everything on loopback, data in `.sandbox/` of the project. Environment variables count,
 * no file does. Its DNS servers and delivery port are not here: a running sandbox writes them to `runningFile`.
 */
export function sandboxConfig({
  env,
  directory = join(project, '.sandbox'),
}: {
  env: NodeJS.ProcessEnv
  directory?: string
}): Loaded {
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
