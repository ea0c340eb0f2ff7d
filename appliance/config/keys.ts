import { ConfigSchema } from './schema.ts'

/** The parts of JSON Schema that the configuration uses. */
export interface KeySchema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  description?: string
  default?: unknown
  format?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minItems?: number
  items?: KeySchema
  /** A choice: each alternative is one constant. */
  anyOf?: { const: string }[]
  properties?: Record<string, KeySchema>
  required?: string[]
  /** The value is not for anybody's eyes. */
  secret?: boolean
}

/** One setting: where it stands in the file, what its environment variable is called, what it takes. */
export interface Key {
  /** Dotted, as in the file: `http.listen`. */
  name: string
  /** `POSTHASTE_HTTP__LISTEN`. */
  variable: string
  section: string | null
  schema: KeySchema
  required: boolean
}

/** A `[section]` of the file with its meaning; null for the keys before the first one. */
export interface Section {
  name: string | null
  description: string
  keys: Key[]
}

export const VARIABLE_PREFIX = 'POSTHASTE_'

const root = ConfigSchema as unknown as KeySchema

function key(section: string | null, name: string, schema: KeySchema, required: boolean): Key {
  const path = section === null ? [name] : [section, name]
  return {
    name: path.join('.'),
    variable: VARIABLE_PREFIX + path.join('__').toUpperCase(),
    section,
    schema,
    required,
  }
}

const entries = Object.entries(root.properties ?? {})

/** The whole schema as a flat list, in the order in which it is written. */
export const SECTIONS: readonly Section[] = [
  {
    name: null,
    description: '',
    keys: entries
      .filter(([, schema]) => schema.type !== 'object')
      .map(([name, schema]) => key(null, name, schema, schema.default === undefined)),
  },
  ...entries
    .filter(([, schema]) => schema.type === 'object')
    .map(([section, schema]) => ({
      name: section,
      description: schema.description ?? '',
      keys: Object.entries(schema.properties ?? {}).map(([name, inner]) => key(section, name, inner, false)),
    })),
]

export const KEYS: readonly Key[] = SECTIONS.flatMap(({ keys }) => keys)
