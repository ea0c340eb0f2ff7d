import { startPostfixInstance } from './postfix-instance.ts'
import { PATIENCE } from './patience.ts'

/** A route by which a Postfix relays mail to a smarthost. */
export interface Route {
  /** The smarthost's address. Default 127.0.0.1. */
  host?: string
  port: number
  /** Settings of this route only. Values must not contain spaces. */
  settings: Record<string, string | number>
}

/** A real Postfix that relays through smarthosts, chosen by the recipient's domain. Needs root. */
export interface SmarthostClient {
  /** The address where it accepts mail, on port 25. */
  readonly address: string
  /**
   * Returns the outcome for these recipients from its log, one line each: `sent (…)`, `bounced (…)`, `deferred (…)`.
   */
  outcomes(recipients: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

/** @param routes by recipient domain, `NAME.test` */
export async function startSmarthostClient(routes: Record<string, Route>): Promise<SmarthostClient> {
  const maps = Object.entries(routes).map(
    ([domain, { host = '127.0.0.1', port }]) => `{ ${domain} = to-${domain}:[${host}]:${port} }`,
  )
  const services = Object.entries(routes).map(([domain, { settings }]) => {
    const options = Object.entries(settings).map(([key, value]) => ` -o ${key}=${value}`)
    return `to-${domain} unix - - n - - smtp${options.join('')}\n`
  })
  const settings = {
    myhostname: 'app-host.test',
    mynetworks: '127.0.0.0/8',
    transport_maps: `inline:{ ${maps.join(', ')} }`,
    // Discards bounces, because their recipient doesn't exist here.
    default_transport: 'discard:',
    smtp_sasl_security_options: 'noanonymous',
    smtp_address_preference: 'ipv4',
    message_size_limit: 0,
    // More recipients than the listener accepts. By default, Postfix puts at most 50 in a transaction.
    default_destination_recipient_limit: 200,
  }
  const { address, log, close } = await startPostfixInstance(() => ({
    settings,
    services: services.join(''),
  }))
  const find = (text: string, recipient: string): string | undefined => {
    const line = text.split('\n').find((one) => one.includes(`to=<${recipient}>`) && one.includes('status='))
    return line?.replace(/^.*status=/, '')
  }
  return {
    address,
    close,
    async outcomes(recipients) {
      const end = Date.now() + PATIENCE
      for (;;) {
        const text = await log()
        const found = recipients.map((recipient) => find(text, recipient))
        if (found.every((one) => one !== undefined)) return found
        if (Date.now() > end) throw new Error(`Not all have an outcome; the log:\n${text}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
  }
}
