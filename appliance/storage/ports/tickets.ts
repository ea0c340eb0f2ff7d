/** What is good once and for a short time: a sign-in that waits for its second factor, a challenge, a link in a mail. */

/**
 * second_factor: the password was right · passkey: a challenge of WebAuthn · oidc: somebody is at an identity provider ·
 * reset: a link that sets a new password · set_up: the link that makes the first owner
 */
export type TicketKind = 'second_factor' | 'passkey' | 'oidc' | 'reset' | 'set_up'

/** Whoever holds the token holds the ticket; only the token's SHA-256 is stored. */
export interface Ticket {
  /** SHA-256 of the token, in hex. */
  tokenHash: string
  kind: TicketKind
  /** Whose it is; it ends with the user. Null: nobody's yet. */
  userId: string | null
  /** Plain JSON. */
  data: unknown
  createdAt: number
  expiresAt: number
}

export interface TicketStorage {
  createTicket(args: Ticket, now: number): Promise<void>
  /** The ticket, when it is of that kind and has not expired. */
  peekTicket(args: { tokenHash: string; kind: TicketKind }, now: number): Promise<Ticket | undefined>
  /** Like `peekTicket`, and it is gone afterwards: of several takers exactly one gets it. */
  takeTicket(args: { tokenHash: string; kind: TicketKind }, now: number): Promise<Ticket | undefined>
  /** Like `peekTicket`, and counts the try; the ticket is gone with the one after `most`. */
  tryTicket(
    args: { tokenHash: string; kind: TicketKind; most: number },
    now: number,
  ): Promise<Ticket | undefined>
  /** Ends all tickets of a user that are of these kinds; returns how many. */
  dropTickets(args: { userId: string; kinds: TicketKind[] }, now: number): Promise<number>
  /** Removes expired ones; returns how many. */
  purgeTickets(args: object, now: number): Promise<number>
}
