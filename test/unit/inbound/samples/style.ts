/** The format of one mail server's delivery reports (RFC 3464). */
import type { Cause } from './sample.ts'

export interface Style {
  origin: string
  from: string
  subject: string
  header?: readonly string[]
  notice: (cause: Cause, recipient: string) => string
  /** Groups of fields: one for the message, one for the recipient. */
  status: (cause: Cause, recipient: string) => string
  /** Media type of the status part. */
  statusType?: string
  /** Media type of the returned message; null if none is returned. */
  returned?: string | null
}

export const TO = 'ada@recipient.example'
export const said = ({ code, status, text }: Cause): string => `${code} ${status} ${text}`
export const fields = (...lines: string[]): string => lines.join('\n')
