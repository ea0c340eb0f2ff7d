/** Receipts of idempotent requests: what was answered, kept so that the same request can be asked again without harm. */

/** A key means something only for one team, method and path. */
export interface ReceiptName {
  teamId: string
  /** Method and path: `POST /emails`. */
  scope: string
  /** As the caller gave it, 1–256 characters. */
  key: string
}

export interface Receipt {
  /** Tells one request body from another. */
  fingerprint: string
  /** The body of the answer, JSON. */
  body: string
  /** Emails that the request made, in its order. */
  emailIds: string[]
}

/** Becomes durable together with the emails that it answers for. */
export interface NewReceipt extends ReceiptName, Receipt {
  /** From then on the key may be used anew (Unix milliseconds). */
  expiresAt: number
}

export interface ReceiptStorage {
  /** The unexpired receipt of a request. */
  findReceipt(args: ReceiptName, now: number): Promise<Receipt | undefined>
  /** Removes expired receipts, at most `limit`, the oldest first; returns how many. */
  purgeReceipts(args: { limit: number }, now: number): Promise<number>
}
