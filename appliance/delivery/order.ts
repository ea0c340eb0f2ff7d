import type { Requests } from './extensions.ts'
import type { Prepared } from './message.ts'
import type { TlsDemand } from './tls-demand.ts'

/** One message for some recipients at one host. */
export interface Order {
  host: string
  ip: string
  /** Our EHLO name. */
  hostname: string
  from: string
  recipients: string[]
  message: Prepared
  /** To be passed on where the server understands it. */
  requests?: Requests | undefined
  demand: TlsDemand
}
