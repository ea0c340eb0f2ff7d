import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, Nullable, Timestamp } from './shared.ts'

const Code = Type.String({
  minLength: 1,
  maxLength: 40,
  description: 'As it was read; spaces and hyphens do not matter.',
})
const Encoded = Type.String({ maxLength: 16_384, description: 'Bytes in base64url, from the browser.' })
const Name = Type.String({ minLength: 1, maxLength: 100, description: 'What its owner calls it.' })

const answerOf = <T extends Parameters<typeof Type.Object>[0]>(response: T) =>
  Type.Object(
    {
      id: Encoded,
      rawId: Encoded,
      type: Type.Literal('public-key', { description: 'Always `public-key`.' }),
      authenticatorAttachment: Type.Optional(
        Type.Unsafe<'cross-platform' | 'platform'>(Type.String({ description: 'Where the device is.' })),
      ),
      clientExtensionResults: Type.Unsafe<object>(Type.Object({}, { description: 'What extensions say.' })),
      response: Type.Object(response, { description: 'What the device signed.' }),
    },
    { description: 'A credential as the browser gives it (WebAuthn, `toJSON`).' },
  )

/** A new passkey, as the browser gives it. */
export const PasskeyRegistration = answerOf({
  clientDataJSON: Encoded,
  attestationObject: Encoded,
  transports: Type.Optional(
    Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10, description: 'How it can be reached.' }),
  ),
})

/** The answer of a passkey, as the browser gives it. */
export const PasskeyAnswer = answerOf({
  clientDataJSON: Encoded,
  authenticatorData: Encoded,
  signature: Encoded,
  userHandle: Type.Optional(Encoded),
})

/** POST /session/totp, POST /session/recovery-code and POST /account/totp/confirm. */
export const GivenCode = Type.Object(
  { code: Code },
  { description: 'A code of the app, or a recovery code.' },
)

/** POST /session/passkey */
export const GivenPasskey = Type.Object(
  { response: PasskeyAnswer },
  { description: 'What the passkey answered.' },
)

/** What a page hands to the browser to make or use a passkey. */
export const PasskeyOptions = Type.Object(
  {
    object: kind('passkey_options'),
    options: Type.Unsafe<object>(
      Type.Object(
        {},
        { description: 'Options of WebAuthn in their JSON form, good for some minutes and one answer.' },
      ),
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
    host: Type.String({ description: 'The host name that it is bound to; it works under no other.' }),
    synced: Type.Boolean({ description: 'Whether it is kept in an account and not only in one device.' }),
    created_at: Timestamp,
    last_used_at: Nullable(Timestamp, { description: 'Null: never.' }),
  },
  { description: 'A key in a device or a password manager.' },
)
export type Passkey = Static<typeof Passkey>

/** GET /account/factors */
export const Factors = Type.Object(
  {
    object: kind('factors'),
    totp: Nullable(
      Type.Object(
        { created_at: Timestamp, last_used_at: Nullable(Timestamp, { description: 'Null: never.' }) },
        { description: 'The app that shows codes.' },
      ),
      { description: 'Null: no app is set up.' },
    ),
    passkeys: Type.Array(Passkey, { description: 'The oldest first.' }),
    recovery_codes: Type.Integer({ description: 'How many are left.' }),
    has_password: Type.Boolean({ description: 'Whether one can sign in with a password.' }),
    proved: Type.Boolean({
      description: 'Whether factors can be changed now, without showing the password or a factor again.',
    }),
    factor_needed: Type.Boolean({
      description:
        'Whether only a factor is enough for that: this session began before with the password alone.',
    }),
  },
  { description: 'The second factors of who is signed in.' },
)
export type Factors = Static<typeof Factors>

/** POST /account/totp */
export const TotpStarted = Type.Object(
  {
    object: kind('totp'),
    secret: Type.String({ description: 'In base32, to type. Told once.' }),
    uri: Type.String({ description: 'The same for a QR code.' }),
  },
  { description: 'What an app needs to show codes.' },
)

const Codes = Type.Array(Type.String(), { description: 'To be kept on paper. Each opens once; told once.' })

/** POST /account/recovery-codes */
export const RecoveryCodes = Type.Object(
  { object: kind('recovery_codes'), recovery_codes: Codes },
  { description: 'Ways in for the day when the phone is lost.' },
)

/** POST /account/totp/confirm and POST /account/passkeys */
export const FactorAdded = Type.Object(
  {
    object: kind('factor'),
    recovery_codes: Nullable(Codes, { description: 'Null: there are some from before.' }),
  },
  { description: 'A second factor that counts from now on.' },
)
export type FactorAdded = Static<typeof FactorAdded>

/** POST /account/passkeys */
export const AddPasskey = Type.Object(
  { name: Name, response: PasskeyRegistration },
  { description: 'A passkey that the browser made.' },
)

/** PATCH /account/passkeys/:id */
export const RenamePasskey = Type.Object({ name: Name }, { description: 'Another name.' })

/** DELETE /account/totp and DELETE /account/passkeys/:id */
export const FactorRemoved = Type.Object(
  { object: kind('factor'), deleted: Deleted },
  { description: 'A second factor that opens nothing any more.' },
)

/** POST /account/proof: one of them. */
export const Proof = Type.Object(
  {
    password: Type.Optional(Type.String({ description: 'The password of the account.' })),
    code: Type.Optional(Code),
    recovery_code: Type.Optional(Code),
    response: Type.Optional(PasskeyAnswer),
  },
  { description: 'One of the ways to show who one is.' },
)

/** POST /account/proof */
export const Proven = Type.Object(
  { object: kind('proof'), proved: Type.Literal(true, { description: 'Always true.' }) },
  { description: 'For some minutes factors can be changed.' },
)
