/** Labels of templates. */
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Check from '@lucide/svelte/icons/check'
import Pencil from '@lucide/svelte/icons/pencil'
import type { TemplateSummary } from '../../../appliance/api/templates.ts'
import type { Look } from './status.ts'

/** Returns the label of a template: whether it is published, and has unpublished changes. */
export function ofTemplate(template: Pick<TemplateSummary, 'status' | 'has_unpublished_versions'>): Look {
  if (template.status === 'draft') return { word: 'draft', tone: 'slate', icon: CircleDashed }
  return template.has_unpublished_versions
    ? { word: 'published, with changes', tone: 'amber', icon: Pencil }
    : { word: 'published', tone: 'green', icon: Check }
}

export const TEMPLATE_STATUSES = [
  ['draft', 'Draft'],
  ['published', 'Published'],
] as const
