import { expect, test } from 'vitest'
import { formatConfigError, loadConfig } from '../../../appliance/config/config.ts'

const BUCKET = {
  S3__ENDPOINT: 'https://s3.example.com',
  S3__BUCKET: 'example-mail',
  S3__ACCESS_KEY_ID: 'AKIAEXAMPLE',
  S3__SECRET_ACCESS_KEY: 'geheim',
}

function complaintsOf(settings: Record<string, string>): string[] {
  const variables = Object.entries(settings).map(([name, value]) => [`POSTHASTE_${name}`, value])
  const env = {
    POSTHASTE_HOSTNAME: 'mail.example.com',
    ...Object.fromEntries(variables),
  } as NodeJS.ProcessEnv
  const loaded = loadConfig({ env, defaultFile: '/nonexistent' })
  return 'complaints' in loaded ? loaded.complaints.map(formatConfigError) : []
}

test('a complete bucket is accepted, whether new messages are stored in it or not', () => {
  expect(complaintsOf(BUCKET)).toEqual([])
  expect(complaintsOf({ ...BUCKET, STORAGE__BODIES: 's3' })).toEqual([])
})

test('missing and conflicting settings of the bucket are reported', () => {
  expect(complaintsOf({ STORAGE__BODIES: 's3' })).toEqual([
    'POSTHASTE_STORAGE__BODIES: storage.bodies "s3" requires s3.endpoint, s3.bucket, s3.access_key_id, s3.secret_access_key or s3.secret_access_key_file.',
  ])
  expect(complaintsOf({ S3__BUCKET: 'example-mail' })).toEqual([
    'POSTHASTE_S3__BUCKET: [s3] requires s3.endpoint, s3.access_key_id, s3.secret_access_key or s3.secret_access_key_file.',
  ])
  expect(complaintsOf({ ...BUCKET, S3__SECRET_ACCESS_KEY_FILE: '/run/secret' })).toEqual([
    'POSTHASTE_S3__SECRET_ACCESS_KEY_FILE: s3.secret_access_key is set, too. Set only one of the two.',
  ])
  expect(complaintsOf({ ...BUCKET, S3__ENDPOINT: 'http://10.0.0.5:9000', S3__CA: '/ca.pem' })).toEqual([
    'POSTHASTE_S3__CA: s3.ca has no effect unless s3.endpoint is an https:// URL.',
  ])
  expect(complaintsOf({ ...BUCKET, S3__ENDPOINT: 'http://[fd00::5]:9000', S3__PATH_STYLE: 'false' })).toEqual(
    ['POSTHASTE_S3__PATH_STYLE: s3.path_style must be true if s3.endpoint has an IP address.'],
  )
})

test.each([
  ['S3__ENDPOINT', 'https://s3.example.com/path'],
  ['S3__BUCKET', 'Example_Mail'],
  ['S3__BUCKET', 'a..b'],
  ['S3__PREFIX', 'posthaste'],
  ['S3__PREFIX', '../'],
  ['S3__REGION', 'eu central'],
  ['S3__ACCESS_KEY_ID', 'a/b'],
])('%s refuses %s', (name, value) => {
  expect(complaintsOf({ ...BUCKET, [name]: value })).toEqual([
    expect.stringContaining(`POSTHASTE_${name}: s3.`) as string,
  ])
})
