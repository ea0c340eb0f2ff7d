import { createSetup } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../watch/log.ts'
import type { RunningDaemon } from '../compose.ts'

/** The dependencies of the set-up link. */
export interface SetupLinkDeps {
  appliance: Pick<RunningDaemon, 'accounts' | 'storage' | 'url'>
  config: Pick<Config, 'hostname' | 'http'>
  clock: Clock
  log: Logger
}

/**
 * If there is no owner yet, creates a one-time link to the set-up page, logs it, and prints it on a terminal. Never
 * rejects, because a daemon that can't store a token must still deliver queued mail.
 */
export async function announceSetupLink({ appliance, config, clock, log }: SetupLinkDeps): Promise<void> {
  const { accounts, storage, url } = appliance
  try {
    const opened = await createSetup({ storage, clock, accounts }).open()
    if (!opened) return
    const link = `${resolveDashboardOrigin(config, url)}/dashboard/setup#${opened.token}`
    const expires = new Date(opened.expiresAt).toISOString()
    log.warn({ link, expires }, 'there is no owner yet; open the link in a browser to set up')
    // Programs read JSON logs, so print the link as well on a terminal, or if the log level would hide it.
    if (process.stdout.isTTY || !log.isLevelEnabled('warn')) console.log(invitation(link))
  } catch (error) {
    log.error(
      { err: error },
      'could not create a setup link; run "posthaste setup", or fix the storage and restart',
    )
  }
}

/** Returns the origin of the dashboard. Replaces a wildcard address by the host name, because it can't be opened. */
export function resolveDashboardOrigin(config: SetupLinkDeps['config'], listening: string): string {
  const { hostname, http } = config
  const apart = http.admin_listen.length + http.admin_tls_listen.length > 0
  if (apart || http.admin_url !== undefined) return dashboardOrigin(config)
  return http.public_url ?? listening.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:|$)/, `//${hostname}`)
}

const invitation = (link: string): string => `
There is no owner yet. Open this link in a browser to set up. It works once and expires in 24 hours:

  ${link}

Or run on this machine: posthaste setup --email you@example.com
`

/** Returns the origin of the dashboard according to the configuration, for links that a command prints. */
export function dashboardOrigin({ hostname, http }: Pick<Config, 'hostname' | 'http'>): string {
  const [own] = [...http.admin_listen, ...http.listen]
  const apart = http.admin_listen.length + http.admin_tls_listen.length > 0
  const named = http.admin_url ?? (apart ? undefined : http.public_url)
  return named ?? `http://${(own ?? hostname).replace(/^(0\.0\.0\.0|\[::\])(?=:|$)/, hostname)}`
}
