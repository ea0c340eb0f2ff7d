/** What the document says of second factors. */
import type { OperationNotes } from './openapi-operations.ts'

const own = 'For people in the dashboard. Not at the hosted service.'
const proven =
  'Asks that the password or a factor was shown within ten minutes (`POST /account/proof`); a sign-in counts. Not at the hosted service.'
const step = 'With the cookie of the first step, in ten minutes and five tries. Not at the hosted service.'
const errors = ['403', '429']
const note = (id: string, summary: string, description = own, more: object = {}): OperationNotes => ({
  id,
  tag: 'Dashboard',
  summary,
  description,
  ...more,
})

/** The second step of a sign-in, and one's own factors. */
export const FACTORS: Record<string, OperationNotes> = {
  'GET /session/step': note('getSignInStep', 'See which step of the sign-in is missing', step),
  'DELETE /session/step': note('cancelSignIn', 'Give the sign-in up', step, { errors }),
  'POST /session/totp': note('signInWithTotp', 'Give a code of the app', step, { errors }),
  'POST /session/recovery-code': note('signInWithRecoveryCode', 'Give a recovery code', step, { errors }),
  'POST /session/passkey/options': note(
    'getPasskeySignInOptions',
    'Begin to use a passkey',
    'As the second step, or without the cookie of the first to sign in by passkey alone. Not at the hosted service.',
    { errors },
  ),
  'POST /session/passkey': note(
    'signInWithPasskey',
    'Give the answer of a passkey',
    'Answers with a cookie. Not at the hosted service.',
    { errors },
  ),
  'GET /account/factors': note('getFactors', 'See the own second factors'),
  'POST /account/proof': note(
    'proveIdentity',
    'Show again who one is',
    'With the password, a code, a recovery code or a passkey: one of them. Not at the hosted service.',
    { errors },
  ),
  'POST /account/proof/options': note('getPasskeyProofOptions', 'Begin to show it with a passkey', own, {
    errors,
  }),
  'POST /account/totp': note('startTotp', 'Begin to set up an app for codes', proven, { errors }),
  'POST /account/totp/confirm': note('confirmTotp', 'Confirm the app with its first code', proven, {
    errors,
  }),
  'DELETE /account/totp': note('removeTotp', 'Remove the app', proven, { errors }),
  'POST /account/recovery-codes': note(
    'renewRecoveryCodes',
    'Make new recovery codes',
    `All older ones are void. ${proven}`,
    { errors },
  ),
  'POST /account/passkeys/options': note('getPasskeyCreationOptions', 'Begin to add a passkey', proven, {
    errors,
  }),
  'POST /account/passkeys': note('addPasskey', 'Add a passkey', proven, { errors }),
  'PATCH /account/passkeys/:id': note('renamePasskey', 'Rename a passkey'),
  'DELETE /account/passkeys/:id': note('removePasskey', 'Remove a passkey', proven, { errors }),
}
