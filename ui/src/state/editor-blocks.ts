/** Blocks that can be inserted, the cursor's position, and actions on whole blocks. */
import type { Editor } from '@tiptap/core'
import type { Node as Block } from '@tiptap/pm/model'
import { type EditorState, NodeSelection, TextSelection } from '@tiptap/pm/state'

export interface Insertable {
  words: string
  /** Additional search terms for the block. */
  also: string
  node: { type: string; attrs?: object; content?: object[] }
}

const paragraph = { type: 'paragraph' }
const columns = (count: number): Insertable['node'] => ({
  type: 'columns',
  content: Array.from({ length: count }, () => ({ type: 'column', content: [paragraph] })),
})
const list = (type: string): Insertable['node'] => ({
  type,
  content: [{ type: 'listItem', content: [paragraph] }],
})
const text = (words: string) => [{ type: 'text', text: words }]

const INSERTABLE: Insertable[] = [
  { words: 'Text', also: 'paragraph', node: paragraph },
  { words: 'Heading 1', also: 'title h1', node: { type: 'heading', attrs: { level: 1 } } },
  { words: 'Heading 2', also: 'h2', node: { type: 'heading', attrs: { level: 2 } } },
  { words: 'Heading 3', also: 'h3', node: { type: 'heading', attrs: { level: 3 } } },
  { words: 'Button', also: 'link call to action', node: { type: 'button', content: text('Button') } },
  { words: 'Image', also: 'picture photo logo', node: { type: 'image' } },
  { words: 'Bullet list', also: 'unordered', node: list('bulletList') },
  { words: 'Numbered list', also: 'ordered', node: list('orderedList') },
  { words: 'Quote', also: 'blockquote', node: { type: 'blockquote', content: [paragraph] } },
  { words: '2 columns', also: 'layout side by side', node: columns(2) },
  { words: '3 columns', also: 'layout side by side', node: columns(3) },
  { words: 'Section', also: 'box background', node: { type: 'section', content: [paragraph] } },
  { words: 'Divider', also: 'line rule', node: { type: 'divider' } },
  { words: 'Spacer', also: 'space gap', node: { type: 'spacer' } },
  { words: 'Social links', also: 'networks icons', node: { type: 'social' } },
  { words: 'Code', also: 'pre', node: { type: 'codeBlock' } },
  { words: 'Footer', also: 'unsubscribe address', node: { type: 'footer' } },
]

/** Returns the blocks that match a search. A document can have one footer only. */
export function findInsertableBlocks(query: string, state: EditorState): Insertable[] {
  let hasFooter = false
  state.doc.forEach((node) => (hasFooter ||= node.type.name === 'footer'))
  const wanted = query.toLowerCase()
  return INSERTABLE.filter(
    ({ words, also, node }) =>
      `${words} ${also}`.toLowerCase().includes(wanted) && !(hasFooter && node.type === 'footer'),
  )
}

/**
 * Inserts a block at the cursor. Replaces an empty paragraph; otherwise inserts the block after the current one, if it
 * is allowed there.
 */
export function insertBlock(editor: Editor, json: Insertable['node']): void {
  const { state, view } = editor
  const block = state.schema.nodeFromJSON(json)
  const { selection } = state
  const { $from } = selection
  const top = selection instanceof NodeSelection ? $from.depth + 1 : $from.depth
  for (let depth = top; depth > 0; depth--) {
    const parent = $from.node(depth - 1)
    const at = $from.index(depth - 1)
    const current = parent.maybeChild(at)
    if (!current) continue
    const start = $from.posAtIndex(at, depth - 1)
    const end = start + current.nodeSize
    const empty = current.type.name === 'paragraph' && current.content.size === 0
    if (!parent.canReplaceWith(empty ? at : at + 1, at + 1, block.type)) continue
    const from = empty ? start : end
    const tr = state.tr.replaceWith(from, end, block)
    const isText = block.isTextblock || block.content.size > 0
    // Selects the default text of a button, so that typing replaces it.
    const inside =
      block.isTextblock && block.content.size > 0
        ? TextSelection.create(tr.doc, from + 1, from + 1 + block.content.size)
        : TextSelection.near(tr.doc.resolve(from + 1))
    tr.setSelection(isText ? inside : NodeSelection.create(tr.doc, from))
    view.dispatch(tr.scrollIntoView())
    break
  }
  editor.commands.focus()
}

/** A block that contains the cursor. */
export interface BlockPosition {
  type: string
  attrs: Record<string, unknown>
  pos: number
}

/** Returns the block at the cursor and its ancestors, innermost first. */
export function listBlockAncestors({ selection }: EditorState): BlockPosition[] {
  const place = (node: Block, pos: number): BlockPosition => ({
    type: node.type.name,
    attrs: node.attrs,
    pos,
  })
  const { $from } = selection
  const found = selection instanceof NodeSelection ? [place(selection.node, selection.from)] : []
  for (let depth = $from.depth; depth > 0; depth--) found.push(place($from.node(depth), $from.before(depth)))
  return found
}

export function setAttribute(editor: Editor, pos: number, name: string, value: unknown): void {
  const { state, view } = editor
  const node = state.doc.nodeAt(pos)
  if (!node) return
  const isSelected = state.selection instanceof NodeSelection && state.selection.from === pos
  const tr = state.tr.setNodeMarkup(pos, undefined, { ...node.attrs, [name]: value }, node.marks)
  if (isSelected) tr.setSelection(NodeSelection.create(tr.doc, pos))
  view.dispatch(tr)
}

/** Deletes a block. If its parent can't be empty, an empty block replaces it. */
export function removeBlock({ state, view }: Editor, pos: number): void {
  const node = state.doc.nodeAt(pos)
  if (!node) return
  const $at = state.doc.resolve(pos)
  const end = pos + node.nodeSize
  const tr = $at.parent.canReplace($at.index(), $at.index() + 1)
    ? state.tr.delete(pos, end)
    : state.tr.replaceWith(pos, end, state.schema.nodes.paragraph!.create())
  view.dispatch(tr.setSelection(TextSelection.near(tr.doc.resolve(Math.min(pos, tr.doc.content.size)))))
}

/**
 * Swaps a block with its neighbor, if there is one.
 * @param by -1: up, 1: down
 */
export function moveBlock({ state, view }: Editor, pos: number, by: -1 | 1): void {
  const node = state.doc.nodeAt(pos)
  const $at = state.doc.resolve(pos)
  const other = $at.parent.maybeChild($at.index() + by)
  if (!node || !other) return
  const to = by === -1 ? pos - other.nodeSize : pos + other.nodeSize
  const tr = state.tr.delete(pos, pos + node.nodeSize).insert(to, node)
  const isText = node.isTextblock || node.content.size > 0
  tr.setSelection(isText ? TextSelection.near(tr.doc.resolve(to + 1)) : NodeSelection.create(tr.doc, to))
  view.dispatch(tr.scrollIntoView())
}

export function duplicateBlock({ state, view }: Editor, pos: number): void {
  const node = state.doc.nodeAt(pos)
  if (node) view.dispatch(state.tr.insert(pos + node.nodeSize, node.copy(node.content)))
}
