import type { ReadStream } from 'node:tty'
import { Failure } from './context.ts'

/** Maximum number of characters read, longer than any password. */
const most = 4096

/** Reads the first line of a stream that is not a terminal, such as a pipe or a file. */
async function readFirstLine(input: AsyncIterable<string | Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += chunk.toString()
    if (text.includes('\n') || text.length > most) break
  }
  return text.split(/\r?\n/, 1)[0]!
}

/** Prompts on the terminal without echo. The prompt and line end go to standard error. */
function askHidden(question: string, input: ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = ''
    const done = (error?: Failure) => {
      input.setRawMode(false)
      input.off('data', take)
      input.pause()
      process.stderr.write('\n')
      if (error) reject(error)
      else resolve(typed)
    }
    const take = (chunk: string) => {
      for (const character of chunk) {
        if (character === '\r' || character === '\n' || character === '\u0004') return done()
        if (character === '\u0003') return done(new Failure('Canceled. Nothing was changed.'))
        if (character === '\u007f' || character === '\b') typed = [...typed].slice(0, -1).join('')
        else if (character >= ' ' && typed.length < most) typed += character
      }
    }
    input.setEncoding('utf8')
    // Set before the prompt, so that characters typed immediately aren't echoed either.
    input.setRawMode(true)
    input.on('data', take)
    input.resume()
    process.stderr.write(question)
  })
}

/** Reads a new password: typed twice on a terminal, else the first line of standard input. */
export async function readNewPassword(): Promise<string> {
  if (!process.stdin.isTTY) {
    const line = await readFirstLine(process.stdin)
    if (line === '')
      throw new Failure(
        'No password given. Type it at a terminal, or pass it as the first line of standard input. Nothing was changed.',
      )
    return line
  }
  const password = await askHidden('Password (at least 10 characters): ', process.stdin)
  if ((await askHidden('Again: ', process.stdin)) !== password)
    throw new Failure('The passwords do not match. Nothing was changed.')
  return password
}
