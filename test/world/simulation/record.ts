/** What the receivers recorded. Times are Unix milliseconds of the simulation. */

/** said: accepted, and the sender got the reply · unsaid: accepted, but the connection broke before the reply */
export type Verdict = 'said' | 'unsaid' | 'refused' | 'deferred' | 'broken'

/** The outcome for one recipient in one transaction. */
export interface Answer {
  at: number
  personality: string
  connection: number
  recipient: string
  verdict: Verdict
  /** The reply code; 0 if there was no reply. */
  code: number
}

export interface Connection {
  id: number
  personality: string
  /** The exchanger's name. */
  host: string
  /** The client's IP address. */
  ip: string
  openedAt: number
  closedAt: number
  /** Connections from that address to this personality when it opened, including this one. */
  abreast: number
  /** When each MAIL command arrived. */
  transactions: number[]
  encrypted: boolean
}

export interface Records {
  answers: Answer[]
  connections: Connection[]
}

/** Converts a reply code to a verdict. */
export function verdictOf(code: number): Verdict {
  if (code >= 200 && code < 300) return 'said'
  if (code >= 500) return 'refused'
  return code >= 400 ? 'deferred' : 'broken'
}
