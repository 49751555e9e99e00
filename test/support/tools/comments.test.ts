import { expect, test } from 'vitest'
import { commentsIn } from './comments.ts'

const CODE = `// Opens a file
// and closes it.
const a = 1 // once
/** Keeps
 *  the last answer. */
const url = 'https://not.a/comment' /* a bound */
// oxlint-disable-next-line no-console
const pattern = /\\/\\/ no comment/
function f() {
  // first

  // second
  return \`\${a /* in a template */} // text\`
}
`

test('line comments that follow each other are read as one; strings, patterns and instructions to tools are not read', () => {
  expect(commentsIn('a.ts', CODE)).toEqual([
    { line: 1, text: 'Opens a file and closes it.' },
    { line: 3, text: 'once' },
    { line: 4, text: 'Keeps the last answer.' },
    { line: 6, text: 'a bound' },
    { line: 10, text: 'first second' },
    { line: 13, text: 'in a template' },
  ])
})
