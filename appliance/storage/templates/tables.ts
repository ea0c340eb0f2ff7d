/** The tables of templates. For common column types, see schema.ts. */

export interface TemplatesTable {
  id: string
  team_id: string
  name: string
  /** Unique within the team. */
  alias: string | null
  current_version_id: string
  published_version_id: string | null
  published_at: number | null
  revision: number
  created_at: number
  updated_at: number
}

export interface TemplateVersionsTable {
  id: string
  team_id: string
  template_id: string
  from_header: string | null
  subject: string | null
  /** JSON: string[]. */
  reply_to: string | null
  html: string
  text: string | null
  /** JSON: EmailDocument; null if the HTML was written as code. */
  document: string | null
  /** JSON: StoredVariable[]. */
  variables: string
  author: string
  created_at: number
  updated_at: number
  published_at: number | null
}

export interface TemplateTables {
  templates: TemplatesTable
  template_versions: TemplateVersionsTable
}
