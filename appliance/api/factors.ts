import { Type, type Static } from 'typebox'
import { array, boolean, integer, kind, Nullable, object, string } from './schemas.ts'
import { Deleted, Id, Timestamp } from './shared.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'

const Code = string('The code. Spaces and hyphens are ignored.', { minLength: 1, maxLength: 40 })
const Encoded = string('Bytes in base64url, from the browser.', { maxLength: 16_384 })
const Name = string('Name of the passkey.', { minLength: 1, maxLength: 100 })

const answerOf = <T extends Parameters<typeof Type.Object>[0]>(response: T) =>
  object('A WebAuthn credential, from `toJSON` in the browser.', {
    id: Encoded,
    rawId: Encoded,
    type: Type.Literal('public-key', { description: 'Always `public-key`.' }),
    authenticatorAttachment: Type.Optional(
      Type.Unsafe<'cross-platform' | 'platform'>(string('Whether the authenticator is built in.')),
    ),
    clientExtensionResults: Type.Unsafe<object>(object('Results of extensions.', {})),
    response: object('The signed challenge.', response),
  })

/** A new passkey in the browser's format. */
export const PasskeyRegistration = answerOf({
  clientDataJSON: Encoded,
  attestationObject: Encoded,
  transports: Type.Optional(
    array(Type.String({ maxLength: 40 }), 'Transports of the authenticator.', { maxItems: 10 }),
  ),
})

/** A passkey's response in the browser's format. */
export const PasskeyAssertion = answerOf({
  clientDataJSON: Encoded,
  authenticatorData: Encoded,
  signature: Encoded,
  userHandle: Type.Optional(Encoded),
})

export const CodeInput = object('A code from the authenticator app, or a recovery code.', { code: Code })

export const PasskeyInput = object('The response of the passkey.', { response: PasskeyAssertion })

/** The options that a page passes to the browser to create or use a passkey. */
export const PasskeyOptions = object('What the browser needs for a passkey.', {
  object: kind('passkey_options'),
  options: Type.Unsafe<object>(
    object('WebAuthn options as JSON, valid for a few minutes and one response.', {}),
  ),
})

/** A passkey. */
export const Passkey = object('A passkey on a device or in a password manager.', {
  object: kind('passkey'),
  id: Id,
  name: Name,
  host: string('The hostname that the passkey is bound to. It works on no other.'),
  synced: boolean('Whether it is synced to an account instead of stored on one device.'),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp, 'Null: never.'),
})
export type Passkey = Static<typeof Passkey>

export const Factors = object("The user's second steps.", {
  object: kind('factors'),
  totp: Nullable(
    object('The authenticator app.', {
      created_at: Timestamp,
      last_used_at: Nullable(Timestamp, 'Null: never.'),
    }),
    'Null: no app is set up.',
  ),
  passkeys: array(Passkey, 'Oldest first.'),
  recovery_codes: integer('Number of unused codes.'),
  has_password: boolean('Whether the account has a password.'),
  proved: boolean('Whether second steps can be changed now, without confirming the identity again.'),
  factor_needed: boolean(
    'Whether this requires a second step, because the session started with only the password.',
  ),
})
export type Factors = Static<typeof Factors>

export const TotpStarted = object('The secret for an authenticator app.', {
  object: kind('totp'),
  secret: string('In base32, for manual entry. Shown once.'),
  uri: string('The same as a URI for a QR code.'),
})

const Codes = array(Type.String(), 'Store them safely. Each works once. Shown once.')

export const RecoveryCodes = object('Recovery codes for when the other second steps are lost.', {
  object: kind('recovery_codes'),
  recovery_codes: Codes,
})

export const FactorAdded = object('A second step that is now active.', {
  object: kind('factor'),
  recovery_codes: Nullable(Codes, 'Null: recovery codes already exist.'),
})
export type FactorAdded = Static<typeof FactorAdded>

export const AddPasskey = object('A passkey created by the browser.', {
  name: Name,
  response: PasskeyRegistration,
})

export const RenamePasskey = object('The new name.', { name: Name })

export const FactorRemoved = object('The removed second step.', { object: kind('factor'), deleted: Deleted })

/** POST /account/proof: exactly one kind of proof. */
export const Proof = object('One of the ways to confirm the identity.', {
  password: Type.Optional(string('The password of the account.')),
  code: Type.Optional(Code),
  recovery_code: Type.Optional(Code),
  response: Type.Optional(PasskeyAssertion),
})

export const ProofAccepted = object('For a few minutes, second steps can be changed.', {
  object: kind('proof'),
  proved: Type.Literal(true, { description: 'Always true.' }),
})

const proven =
  'Requires a password or second step entered within the last ten minutes (`POST /account/proof`); signing in counts. Not part of the hosted API.'

const operation = operationsIn('Dashboard')

export const getFactors = operation('GET /account/factors', {
  access: 'people',
  summary: 'Get your second steps',
  description: 'For the dashboard. Not part of the hosted API.',
  response: { 200: Factors },
})
export const proveIdentity = operation('POST /account/proof', {
  access: 'people',
  summary: 'Confirm your identity',
  description:
    'With one of: password, authenticator code, recovery code or passkey. Not part of the hosted API.',
  body: Proof,
  response: { 200: ProofAccepted },
  errors: ['403', '429'],
})
export const getPasskeyProofOptions = operation('POST /account/proof/options', {
  access: 'people',
  summary: 'Get options to confirm with a passkey',
  description: 'For the dashboard. Not part of the hosted API.',
  response: { 200: PasskeyOptions },
  errors: ['403', '429'],
})
export const startTotp = operation('POST /account/totp', {
  access: 'people',
  summary: 'Start setting up an authenticator app',
  description: proven,
  response: { 200: TotpStarted },
  errors: ['403', '429'],
})
export const confirmTotp = operation('POST /account/totp/confirm', {
  access: 'people',
  summary: 'Confirm the authenticator app with its first code',
  description: proven,
  body: CodeInput,
  response: { 200: FactorAdded },
  errors: ['403', '429'],
})
export const removeTotp = operation('DELETE /account/totp', {
  access: 'people',
  summary: 'Remove the authenticator app',
  description: proven,
  response: { 200: FactorRemoved },
  errors: ['403', '429'],
})
export const renewRecoveryCodes = operation('POST /account/recovery-codes', {
  access: 'people',
  summary: 'Create new recovery codes',
  description:
    'Replaces all existing recovery codes. Requires a password or second step entered within the last ten minutes (`POST /account/proof`); signing in counts. Not part of the hosted API.',
  response: { 200: RecoveryCodes },
  errors: ['403', '429'],
})
export const getPasskeyCreationOptions = operation('POST /account/passkeys/options', {
  access: 'people',
  summary: 'Get options to add a passkey',
  description: proven,
  response: { 200: PasskeyOptions },
  errors: ['403', '429'],
})
export const addPasskey = operation('POST /account/passkeys', {
  access: 'people',
  summary: 'Add a passkey',
  description: proven,
  body: AddPasskey,
  response: { 200: FactorAdded },
  errors: ['403', '429'],
})
export const renamePasskey = operation('PATCH /account/passkeys/:id', {
  access: 'people',
  summary: 'Rename a passkey',
  description: 'For the dashboard. Not part of the hosted API.',
  params: byId,
  body: RenamePasskey,
  response: { 200: Passkey },
})
export const removePasskey = operation('DELETE /account/passkeys/:id', {
  access: 'people',
  summary: 'Remove a passkey',
  description: proven,
  params: byId,
  response: { 200: FactorRemoved },
  errors: ['403', '429'],
})
