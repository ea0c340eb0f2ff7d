import { Type } from 'typebox'
import { secret, section } from './formats.ts'

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
