import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, Nullable, Timestamp } from './shared.ts'
import { operationsIn } from './operation.ts'
import { path, pathId } from './parameters.ts'

const Code = Type.String({
  minLength: 1,
  maxLength: 40,
  description: 'The code. Spaces and hyphens are ignored.',
})
const Encoded = Type.String({ maxLength: 16_384, description: 'Bytes in base64url, from the browser.' })
const Name = Type.String({ minLength: 1, maxLength: 100, description: 'Name of the passkey.' })

const answerOf = <T extends Parameters<typeof Type.Object>[0]>(response: T) =>
  Type.Object(
    {
      id: Encoded,
      rawId: Encoded,
      type: Type.Literal('public-key', { description: 'Always `public-key`.' }),
      authenticatorAttachment: Type.Optional(
        Type.Unsafe<'cross-platform' | 'platform'>(
          Type.String({ description: 'Whether the authenticator is built in.' }),
        ),
      ),
      clientExtensionResults: Type.Unsafe<object>(Type.Object({}, { description: 'Results of extensions.' })),
      response: Type.Object(response, { description: 'The signed challenge.' }),
    },
    { description: 'A WebAuthn credential, from `toJSON` in the browser.' },
  )

/** A new passkey in the browser's format. */
export const PasskeyRegistration = answerOf({
  clientDataJSON: Encoded,
  attestationObject: Encoded,
  transports: Type.Optional(
    Type.Array(Type.String({ maxLength: 40 }), {
      maxItems: 10,
      description: 'Transports of the authenticator.',
    }),
  ),
})

/** A passkey's response in the browser's format. */
export const PasskeyAssertion = answerOf({
  clientDataJSON: Encoded,
  authenticatorData: Encoded,
  signature: Encoded,
  userHandle: Type.Optional(Encoded),
})

/** POST /session/totp, POST /session/recovery-code and POST /account/totp/confirm. */
export const CodeInput = Type.Object(
  { code: Code },
  { description: 'A code from the authenticator app, or a recovery code.' },
)

/** POST /session/passkey */
export const PasskeyInput = Type.Object(
  { response: PasskeyAssertion },
  { description: 'The response of the passkey.' },
)

/** The options that a page passes to the browser to create or use a passkey. */
export const PasskeyOptions = Type.Object(
  {
    object: kind('passkey_options'),
    options: Type.Unsafe<object>(
      Type.Object({}, { description: 'WebAuthn options as JSON, valid for a few minutes and one response.' }),
    ),
  },
  { description: 'What the browser needs for a passkey.' },
)

/** A passkey. */
export const Passkey = Type.Object(
  {
    object: kind('passkey'),
    id: Id,
    name: Name,
    host: Type.String({ description: 'The hostname that the passkey is bound to. It works on no other.' }),
    synced: Type.Boolean({
      description: 'Whether it is synced to an account instead of stored on one device.',
    }),
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp, { description: 'Null: never.' }),
  },
  { description: 'A passkey on a device or in a password manager.' },
)
export type Passkey = Static<typeof Passkey>

/** GET /account/factors */
export const Factors = Type.Object(
  {
    object: kind('factors'),
    totp: Nullable(
      Type.Object(
        { created_at: Timestamp, last_used_at: Nullable(Timestamp, { description: 'Null: never.' }) },
        { description: 'The authenticator app.' },
      ),
      { description: 'Null: no app is set up.' },
    ),
    passkeys: Type.Array(Passkey, { description: 'Oldest first.' }),
    recovery_codes: Type.Integer({ description: 'Number of unused codes.' }),
    has_password: Type.Boolean({ description: 'Whether the account has a password.' }),
    proved: Type.Boolean({
      description: 'Whether second steps can be changed now, without confirming the identity again.',
    }),
    factor_needed: Type.Boolean({
      description: 'Whether this requires a second step, because the session started with only the password.',
    }),
  },
  { description: "The user's second steps." },
)
export type Factors = Static<typeof Factors>

/** POST /account/totp */
export const TotpStarted = Type.Object(
  {
    object: kind('totp'),
    secret: Type.String({ description: 'In base32, for manual entry. Shown once.' }),
    uri: Type.String({ description: 'The same as a URI for a QR code.' }),
  },
  { description: 'The secret for an authenticator app.' },
)

const Codes = Type.Array(Type.String(), { description: 'Store them safely. Each works once. Shown once.' })

/** POST /account/recovery-codes */
export const RecoveryCodes = Type.Object(
  { object: kind('recovery_codes'), recovery_codes: Codes },
  { description: 'Recovery codes for when the other second steps are lost.' },
)

/** POST /account/totp/confirm and POST /account/passkeys */
export const FactorAdded = Type.Object(
  {
    object: kind('factor'),
    recovery_codes: Nullable(Codes, { description: 'Null: recovery codes already exist.' }),
  },
  { description: 'A second step that is now active.' },
)
export type FactorAdded = Static<typeof FactorAdded>

/** POST /account/passkeys */
export const AddPasskey = Type.Object(
  { name: Name, response: PasskeyRegistration },
  { description: 'A passkey created by the browser.' },
)

/** PATCH /account/passkeys/:id */
export const RenamePasskey = Type.Object({ name: Name }, { description: 'The new name.' })

/** DELETE /account/totp and DELETE /account/passkeys/:id */
export const FactorRemoved = Type.Object(
  { object: kind('factor'), deleted: Deleted },
  { description: 'The removed second step.' },
)

/** POST /account/proof: exactly one kind of proof. */
export const Proof = Type.Object(
  {
    password: Type.Optional(Type.String({ description: 'The password of the account.' })),
    code: Type.Optional(Code),
    recovery_code: Type.Optional(Code),
    response: Type.Optional(PasskeyAssertion),
  },
  { description: 'One of the ways to confirm the identity.' },
)

/** POST /account/proof */
export const ProofAccepted = Type.Object(
  { object: kind('proof'), proved: Type.Literal(true, { description: 'Always true.' }) },
  { description: 'For a few minutes, second steps can be changed.' },
)

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
  params: path({ id: pathId }),
  body: RenamePasskey,
  response: { 200: Passkey },
})
export const removePasskey = operation('DELETE /account/passkeys/:id', {
  access: 'people',
  summary: 'Remove a passkey',
  description: proven,
  params: path({ id: pathId }),
  response: { 200: FactorRemoved },
  errors: ['403', '429'],
})
