/** A variant of an A/B test as a form of its own. Pure. */
import type { DraftForm } from './draft-form.ts'

/**
 * Returns variant B (index 0) or one after it as a form of its own. Fields that are the same as in A show A’s values;
 * writing one makes it differ.
 */
export function variantForm(form: DraftForm, index: number): DraftForm {
  const values = () => form.abTest!.variants[index]!
  const body = () => values().body ?? form
  const ownBody = () => {
    const variant = values()
    variant.body ??= { html: form.html, text: form.text, document: form.document }
    // Read again: the value that was assigned isn't reactive.
    return variant.body
  }
  return {
    ...form,
    get from() {
      const name = values().fromName.trim()
      const address = /<([^<>]*)>\s*$/.exec(form.from)?.[1] ?? form.from.trim()
      return name === '' ? form.from : `${name} <${address}>`
    },
    get subject() {
      return values().subject ?? form.subject
    },
    set subject(text) {
      values().subject = text === form.subject ? null : text
    },
    get preview() {
      return values().preview ?? form.preview
    },
    set preview(text) {
      values().preview = text === form.preview ? null : text
    },
    get html() {
      return body().html
    },
    set html(html) {
      ownBody().html = html
    },
    get text() {
      return body().text
    },
    set text(text) {
      ownBody().text = text
    },
    get document() {
      return body().document
    },
    set document(document) {
      ownBody().document = document
    },
  }
}
