import type { Config } from '../config/config.ts'

/** Where people reach the dashboard, as far as the configuration tells: for links that a command prints. */
export function dashboardOrigin({ hostname, http }: Pick<Config, 'hostname' | 'http'>): string {
  const [own] = [...http.admin_listen, ...http.listen]
  const apart = http.admin_listen.length + http.admin_tls_listen.length > 0
  const named = http.admin_url ?? (apart ? undefined : http.public_url)
  return named ?? `http://${(own ?? hostname).replace(/^(0\.0\.0\.0|\[::\])(?=:|$)/, hostname)}`
}
