// Completion as people use it: the Tab key in real shells. The program is a stand-in that records its arguments and answers; what it answers is a unit test's.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SCRIPTS, SHELLS } from '#cli/complete/scripts.ts'
import { hasPython, onTerminal, plainText } from '#test/support/tools/terminal.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-shells-'))
  writeFileSync(
    join(dir, 'kubenode'),
    `#!/bin/sh
printf '%s|' "$@" >>${dir}/asked; echo >>${dir}/asked
echo 'an error that must not be seen' >&2
case "$*" in
  *' get mach'* | *' -- get mach'*) printf 'machines\\tMachines: one node\\n' ;;
  *'why set') printf 'set/\\t\\n' ;;
  *'why set/') printf 'set/base\\t\\n' ;;
  *'context=arn:'*) case $2 in --line) printf 'aws\\t\\n' ;; *) printf -- '--context=arn:aws\\t\\n' ;; esac ;;
  *'lint '*) printf ':files\\t\\n' ;;
esac
`,
  )
  chmodSync(join(dir, 'kubenode'), 0o755)
  for (const shell of SHELLS) writeFileSync(join(dir, `script.${shell}`), SCRIPTS[shell])
  writeFileSync(join(dir, 'afile.yaml'), '')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const STARTS = {
  bash: ['bash', '--norc', '--noprofile', '-i'],
  zsh: ['zsh', '-f', '-i'],
  fish: ['fish', '--no-config', '-i'],
} as const

/** Each line of keys, what they lead to, and then an empty line again. */
async function typed(shell: (typeof SHELLS)[number], lines: readonly (readonly [string, string])[]) {
  const steps = lines.flatMap(([keys, shows], i) => [
    { wait: `go ${i}\\s*\r.*([$>]|[\\w~]#) `, send: keys },
    { wait: shows, send: `\u0015echo "g"o ${i + 1}\r` },
  ])
  const start = [{ wait: '([$>]|[\\w~]#) ', send: `. ${dir}/script.${shell}; echo "g"o 0\r` }]
  const last = { wait: `go ${lines.length}\\s*\r.*([$>]|[\\w~]#) `, send: '\u0015exit\r' }
  const env = { PATH: `${dir}:${process.env['PATH'] ?? ''}`, PS1: '$ ', PROMPT: '$ ' }
  return onTerminal({ argv: STARTS[shell], steps: [...start, ...steps, last], env, cwd: dir })
}

describe.each(SHELLS)('%s', (shell) => {
  beforeEach((context) => {
    if (!hasPython()) context.skip('python3 is not installed: it opens the pseudo-terminal')
    if (spawnSync(shell, ['-c', 'exit']).status !== 0) context.skip(`${shell} is not installed`)
  })

  test('completes words, keeps the cursor behind a slash, offers files, and shows no error', async () => {
    const { shown, late, left } = await typed(shell, [
      ['kubenode get mach\t', 'get machines '],
      ['kubenode why set\t\t', 'why set/base'],
      ['kubenode get --context=arn:\t', 'context=arn:aws'],
      ['kubenode lint afi\t', 'afile.yaml'],
    ])
    expect([late, left, plainText(shown)]).toEqual([false, 0, expect.not.stringContaining('must not be seen')])
    const asked = readFileSync(join(dir, 'asked'), 'utf8')
    expect(asked).toMatch(
      shell === 'bash' ? /^__complete\|--line\|kubenode get mach\|$/m : /^__complete\|--\|get\|mach\|$/m,
    )
  })
})
