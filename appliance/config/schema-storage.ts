import { Type } from 'typebox'
import { secret, section } from './formats.ts'

/** `[s3]`. */
export const s3Section = section(
  'The bucket for large messages, on an S3-compatible server (docs/scaling.md). Keep it after a switch back to storage.bodies "engine", as long as messages are in the bucket.',
  {
    endpoint: Type.Optional(
      Type.String({
        format: 'origin',
        description:
          'Origin of the server, such as https://s3.eu-central-1.amazonaws.com. Use http:// only within a trusted network, because messages are then not encrypted on the way.',
      }),
    ),
    region: Type.String({
      format: 's3-region',
      default: 'us-east-1',
      description: 'Region of the bucket, which is part of the signature. Many servers accept only one.',
    }),
    bucket: Type.Optional(
      Type.String({
        format: 's3-bucket',
        description: 'Name of the bucket. Create it yourself, without public access.',
      }),
    ),
    prefix: Type.String({
      format: 's3-prefix',
      default: 'posthaste/',
      description:
        'Beginning of all keys, empty or with a slash at the end. All nodes of a database have the same one. Servers with different databases need different ones.',
    }),
    access_key_id: Type.Optional(
      Type.String({
        format: 's3-key',
        description:
          'Access key ID. The key must be allowed to list the bucket, and to read, write and delete objects.',
      }),
    ),
    secret_access_key: Type.Optional(
      Type.String({ description: 'The secret of the access key.', ...secret }),
    ),
    secret_access_key_file: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          'File whose first line is the secret of the access key, readable only by the service, instead of s3.secret_access_key. It can be a systemd credential: /run/credentials/posthaste.service/NAME.',
      }),
    ),
    path_style: Type.Boolean({
      default: true,
      description:
        'Whether the bucket is in the path of URLs (https://endpoint/bucket/key). With false, it is in the host name (https://bucket.endpoint/key).',
    }),
    ca: Type.Optional(
      Type.String({
        format: 'absolute-path',
        description:
          'PEM file with the CA certificates to trust when connecting to the server. Default: the public authorities that Node.js trusts.',
      }),
    ),
    larger_than_kb: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      default: 64,
      description:
        'Size from which a message is stored in the bucket, in kilobytes (1000 bytes each). Smaller messages stay in the database, because each object costs a request.',
    }),
  },
)

/** `[storage]`. */
export const storageSection = section('Storage of queued and finished mail.', {
  engine: Type.Union([Type.Literal('sqlite'), Type.Literal('postgres')], {
    default: 'sqlite',
    description:
      'The storage engine: "sqlite", which needs no database server, or "postgres", a PostgreSQL server of version 15 or newer (docs/postgresql.md). Switching the engine starts with an empty database, unless posthaste migrate-storage has moved the data.',
  }),
  url: Type.Optional(
    Type.String({
      format: 'postgres-url',
      description:
        'The PostgreSQL database, such as postgres://posthaste@db.example.com/posthaste. For a Unix socket, give its directory as a parameter: postgres://posthaste@localhost/posthaste?host=/run/postgresql. The only parameter is host. With standbys, name all servers: postgres://posthaste@db1.example.com,db2.example.com/posthaste. Posthaste uses the one that takes writes.',
      ...secret,
    }),
  ),
  password_file: Type.Optional(
    Type.String({
      format: 'absolute-path',
      description:
        'File whose first line is the password of the PostgreSQL user, readable only by the service, instead of a password in storage.url.',
    }),
  ),
  tls: Type.Optional(
    Type.Union([Type.Literal('verify'), Type.Literal('require'), Type.Literal('off')], {
      description:
        'Encryption of the connection to PostgreSQL: "verify" (the certificate must be valid for the host in storage.url), "require" (any certificate) or "off". Default: "verify", but "off" for Unix sockets and this machine.',
    }),
  ),
  tls_ca: Type.Optional(
    Type.String({
      format: 'absolute-path',
      description:
        'File with the certificate authorities of the PostgreSQL server, in PEM, for storage.tls "verify". Default: the public authorities that Node.js trusts.',
    }),
  ),
  bodies: Type.Union([Type.Literal('engine'), Type.Literal('s3')], {
    default: 'engine',
    description:
      'Where large messages are stored: "engine" (with SQLite in files under data_dir, with PostgreSQL in the database) or "s3", in the bucket of [s3]. Smaller messages are always in the database. Switching moves nothing: earlier messages stay readable where they are (docs/scaling.md).',
  }),
  min_free_mb: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 64,
    description:
      'Megabytes (1,000,000 bytes each) that must be free on the disk that holds data_dir. Below this, Posthaste temporarily refuses new mail (452 4.3.1, HTTP 507) but keeps delivering accepted mail. With 0, it refuses mail only when the disk is full. With PostgreSQL, this limits only temporary files in data_dir: watch the disk of the database server yourself.',
  }),
  reserve_mb: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 16,
    description:
      'Size of the file "reserve" in data_dir, in megabytes (1,000,000 bytes each). If another program fills the disk, Posthaste deletes the file, so that it can still record the outcomes of accepted mail. It recreates the file once there is enough space again. This space is in addition to min_free_mb. With 0, or with PostgreSQL, there is no reserve.',
  }),
})

/** `[secrets]`. */
export const secretsSection = section('The master key that encrypts stored secrets (docs/security.md).', {
  master_key_file: Type.Optional(
    Type.String({
      format: 'absolute-path',
      description:
        'File with the key: 32 bytes in base64, readable only by the service. Default: the environment variable POSTHASTE_MASTER_KEY, then the systemd credential posthaste-master-key, then master.key in data_dir, which is created at the first start.',
    }),
  ),
})
