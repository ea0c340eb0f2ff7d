/** A TLS certificate of this appliance, as people are shown it. Times are Unix milliseconds. */
export interface CertificateView {
  /** The first of the names that it is for. */
  name: string
  /** Where it comes from: an authority that is asked (`[acme]`), a file of the configuration, or made here. */
  source: 'authority' | 'file' | 'self_signed'
  /** Null: there is none yet. */
  file: string | null
  names: string[]
  issuer: string | null
  validFrom: number | null
  validUntil: number | null
  /** When the authority is asked for the next one. */
  renewAt: number | null
  /** Tries in a row that failed, what the last one said, and when the next one is. */
  failures: number
  error: string | null
  retryAt: number | null
}
