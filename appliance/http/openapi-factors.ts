/** What the document says of second factors. */
import type { OperationNotes } from './openapi-operations.ts'

const own = 'For the dashboard. Not part of the hosted API.'
const proven =
  'Requires a password or second step entered within the last ten minutes (`POST /account/proof`); signing in counts. Not part of the hosted API.'
const step =
  'Requires the cookie of the first step. Allowed for ten minutes and five attempts. Not part of the hosted API.'
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
  'GET /session/step': note('getSignInStep', 'Get the missing sign-in step', step),
  'DELETE /session/step': note('cancelSignIn', 'Cancel the sign-in', step, { errors }),
  'POST /session/totp': note('signInWithTotp', 'Submit a code of the authenticator app', step, { errors }),
  'POST /session/recovery-code': note('signInWithRecoveryCode', 'Submit a recovery code', step, { errors }),
  'POST /session/passkey/options': note(
    'getPasskeySignInOptions',
    'Get options to sign in with a passkey',
    "As the second step, or without the first step's cookie to sign in with only a passkey. Not part of the hosted API.",
    { errors },
  ),
  'POST /session/passkey': note(
    'signInWithPasskey',
    'Submit the response of a passkey',
    'Sets a session cookie. Not part of the hosted API.',
    { errors },
  ),
  'GET /account/factors': note('getFactors', 'Get your second steps'),
  'POST /account/proof': note(
    'proveIdentity',
    'Confirm your identity',
    'With one of: password, authenticator code, recovery code or passkey. Not part of the hosted API.',
    { errors },
  ),
  'POST /account/proof/options': note(
    'getPasskeyProofOptions',
    'Get options to confirm with a passkey',
    own,
    {
      errors,
    },
  ),
  'POST /account/totp': note('startTotp', 'Start setting up an authenticator app', proven, { errors }),
  'POST /account/totp/confirm': note(
    'confirmTotp',
    'Confirm the authenticator app with its first code',
    proven,
    {
      errors,
    },
  ),
  'DELETE /account/totp': note('removeTotp', 'Remove the authenticator app', proven, { errors }),
  'POST /account/recovery-codes': note(
    'renewRecoveryCodes',
    'Create new recovery codes',
    `Replaces all existing recovery codes. ${proven}`,
    { errors },
  ),
  'POST /account/passkeys/options': note(
    'getPasskeyCreationOptions',
    'Get options to add a passkey',
    proven,
    {
      errors,
    },
  ),
  'POST /account/passkeys': note('addPasskey', 'Add a passkey', proven, { errors }),
  'PATCH /account/passkeys/:id': note('renamePasskey', 'Rename a passkey'),
  'DELETE /account/passkeys/:id': note('removePasskey', 'Remove a passkey', proven, { errors }),
}
