/** Keyboard shortcuts and input rules of the editor. */
import { type Editor, Extension, InputRule, textblockTypeInputRule, wrappingInputRule } from '@tiptap/core'
import { dropCursor } from '@tiptap/pm/dropcursor'
import { gapCursor } from '@tiptap/pm/gapcursor'
import { history, redo, undo } from '@tiptap/pm/history'

const run = (command: typeof undo, { state, view }: Editor): boolean => command(state, view.dispatch)

export const undoEdit = (editor: Editor): boolean => run(undo, editor)
export const redoEdit = (editor: Editor): boolean => run(redo, editor)

const MARK_KEYS = { b: 'bold', i: 'italic', u: 'underline', e: 'code', 'Shift-s': 'strike' }

export const EDITOR_RULES = Extension.create({
  name: 'rules',
  addProseMirrorPlugins: () => [history(), dropCursor({ class: 'drop-cursor' }), gapCursor()],
  addKeyboardShortcuts() {
    const { editor } = this
    const marks = Object.entries(MARK_KEYS).map(([key, name]) => [
      `Mod-${key}`,
      () => editor.commands.toggleMark(name),
    ])
    return {
      ...(Object.fromEntries(marks) as Record<string, () => boolean>),
      'Mod-z': () => undoEdit(editor),
      'Mod-Shift-z': () => redoEdit(editor),
      'Mod-y': () => redoEdit(editor),
      Enter: () => editor.commands.splitListItem('listItem'),
      Tab: () => editor.commands.sinkListItem('listItem'),
      'Shift-Tab': () => editor.commands.liftListItem('listItem'),
      'Shift-Enter': () => editor.commands.insertContent({ type: 'hardBreak' }),
      Backspace: () => atStart(editor) && editor.commands.liftListItem('listItem'),
    }
  },
  addInputRules() {
    const { nodes } = this.editor.schema
    return [
      textblockTypeInputRule({
        find: /^(#{1,3})\s$/,
        type: nodes.heading!,
        getAttributes: ([, marks]) => ({ level: marks!.length }),
      }),
      wrappingInputRule({ find: /^\s*[-*]\s$/, type: nodes.bulletList! }),
      wrappingInputRule({ find: /^1\.\s$/, type: nodes.orderedList! }),
      wrappingInputRule({ find: /^>\s$/, type: nodes.blockquote! }),
      new InputRule({
        find: /^---$/,
        handler: ({ state, range }) => {
          const $at = state.doc.resolve(range.from)
          state.tr.replaceWith($at.before(), $at.after(), [
            nodes.divider!.create(),
            nodes.paragraph!.create(),
          ])
        },
      }),
    ]
  },
})

/** Whether the cursor is at the start of a list item's text. */
function atStart({ state }: Editor): boolean {
  const { empty, $from } = state.selection
  return empty && $from.parentOffset === 0 && $from.depth > 1 && $from.node(-1).type.name === 'listItem'
}
