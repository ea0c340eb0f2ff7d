import { Type, type Static } from 'typebox'
import { kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

/** An element of GET /certificates. Ours. */
export const Certificate = Type.Object(
  {
    object: kind('certificate'),
    name: Type.String({ description: 'The first name that it is for.' }),
    source: literals(['authority', 'file', 'self_signed'], {
      description: '`authority`: had and renewed by the server; `file`: named in the configuration.',
    }),
    file: Nullable(Type.String(), { description: 'Where it is; null: there is none yet.' }),
    names: Type.Array(Type.String(), { description: 'All names that it is for.' }),
    issuer: Nullable(Type.String(), { description: 'Who signed it.' }),
    valid_from: Nullable(Timestamp, { description: 'Since when it holds; null: there is none.' }),
    valid_until: Nullable(Timestamp, { description: 'When it ends; null: there is none.' }),
    renew_at: Nullable(Timestamp, { description: 'When the authority is asked for the next one.' }),
    failures: Type.Integer({ description: 'How many tries in a row failed.' }),
    error: Nullable(Type.String(), {
      description: 'What the last one said; or why the file cannot be read.',
    }),
    retry_at: Nullable(Timestamp, { description: 'When it is tried again.' }),
  },
  { description: 'A TLS certificate that listeners of the server show.' },
)
export type Certificate = Static<typeof Certificate>

export const CertificateList = listOf(Certificate, 'TLS certificates')
