import { ConfigSchema } from './schema.ts'

/** The subset of JSON Schema that the configuration uses. */
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
  /** A choice of constants. */
  anyOf?: { const: string }[]
  properties?: Record<string, KeySchema>
  required?: string[]
  /** Whether the value must not be shown. */
  secret?: boolean
}

/** A setting: its name in the file, its environment variable and its type. */
export interface Key {
  /** Dotted, as in the file: `http.listen`. */
  name: string
  /** `POSTHASTE_HTTP__LISTEN`. */
  variable: string
  section: string | null
  schema: KeySchema
  required: boolean
}

/** A `[section]` of the file with its description; null for the keys before the first one. */
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

const isRequired = (name: string, schema: KeySchema): boolean =>
  schema.default === undefined && (root.required ?? []).includes(name)

/** The schema as a flat list, in file order. */
export const SECTIONS: readonly Section[] = [
  {
    name: null,
    description: '',
    keys: entries
      .filter(([, schema]) => schema.type !== 'object')
      .map(([name, schema]) => key(null, name, schema, isRequired(name, schema))),
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
