/** Explains what an S3 server answered, for the operator. */
import { StorageFailure, type FailureKind } from '../engine/failures.ts'

/** The bucket and where it is, as configured. */
export interface BucketAddress {
  /** Origin of the S3 server, such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string
  region: string
  bucket: string
}

/** What went wrong with a request: an error code of S3, or of the connection. */
interface Problem {
  /** HTTP status; null if there was no response. */
  status: number | null
  /** Error code from the response, or Node's code for the connection. */
  code: string
}

/**
 * A request to the bucket failed. `setting` is the configuration key to check if the same request can't succeed until
 * the operator changes something; null if it may succeed later.
 */
export class BucketFailure extends StorageFailure {
  readonly setting: string | null

  constructor(message: string, code: string, kind: FailureKind, setting: string | null) {
    super({ message, code, kind, ambiguous: false, stack: undefined })
    this.name = 'BucketFailure'
    this.setting = setting
  }
}

/** Codes that mean that the bucket or the account has no space left. */
const FULL = /^(QuotaExceeded|InsufficientStorage|StorageFull|XMinioStorageFull|TotalBucketSizeExceeded)$/
/** Codes of a wrong access key. */
const WRONG_KEY = /^(InvalidAccessKeyId|InvalidToken|TokenRefreshRequired|ExpiredToken|NotSignedUp)$/
/** Codes of a region that isn't the bucket's. */
const WRONG_REGION = /^(AuthorizationHeaderMalformed|PermanentRedirect|IllegalLocationConstraintException)$/
/** Codes of TLS errors. */
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_TO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH)/

/** Converts a problem to an error. Every message names the bucket; none contains a secret. */
export function toBucketFailure({ status, code }: Problem, at: BucketAddress): BucketFailure {
  const failed = (sentence: string, kind: FailureKind, setting: string | null = null): BucketFailure =>
    new BucketFailure(
      `The bucket ${at.bucket} at ${at.endpoint} ${sentence}`,
      status === null ? code : `S3_${code}`,
      kind,
      setting,
    )
  const setting = (sentence: string, key: string) =>
    failed(`${sentence} (${code}). Check ${key}.`, 'transient', key)
  if (status === null) {
    if (TLS.test(code)) return setting("can't be reached with TLS", 's3.ca')
    return failed(`can't be reached (${code}).`, 'transient')
  }
  if (status === 507 || FULL.test(code)) return failed(`is full (${code}).`, 'full')
  if (code === 'NoSuchBucket')
    return failed("doesn't exist (NoSuchBucket). Create it, or check s3.bucket.", 'transient', 's3.bucket')
  if (WRONG_KEY.test(code)) return setting('does not know the access key', 's3.access_key_id')
  if (code === 'SignatureDoesNotMatch')
    return setting('refused the signature: access key or secret is wrong', 's3.secret_access_key')
  if (code === 'RequestTimeTooSkewed')
    return failed(
      "refused the request because this machine's clock is wrong (RequestTimeTooSkewed).",
      'transient',
    )
  if (WRONG_REGION.test(code) || status === 301) return setting('is in another region', 's3.region')
  if (status === 403 || status === 401)
    return failed(
      `denies access (${code}). Allow the key to list the bucket, and to read, write and delete objects.`,
      'transient',
      's3.access_key_id',
    )
  if (status >= 300 && status < 400) return setting(`redirects (status ${status})`, 's3.endpoint')
  if (status === 404 || status === 400 || status === 405)
    return setting(`refused the request (status ${status})`, 's3.endpoint')
  return failed(`failed with status ${status} (${code}).`, 'transient')
}
