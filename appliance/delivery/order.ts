import type { Requests } from './extensions.ts'
import type { Prepared } from './message.ts'
import type { TlsDemand } from './tls-demand.ts'

/** Makes the message as it goes to a server without 8BITMIME (RFC 6152 §3), signed anew; or tells why it cannot, as a clause. */
export type ToSevenBit = () => Promise<Prepared | { impossible: string }>

/** One message for some recipients at one host. */
export interface Order {
  host: string
  ip: string
  /** Our EHLO name. */
  hostname: string
  from: string
  recipients: string[]
  message: Prepared
  sevenBit: ToSevenBit
  /** To be passed on where the server understands it. */
  requests?: Requests | undefined
  demand: TlsDemand
}
