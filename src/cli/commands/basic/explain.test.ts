import { expect, test } from 'vitest'
import { ADVICE } from '#explain/errors/numbers.ts'
import { run } from '../../program.ts'

async function runCli(argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = { out: (t: string) => (out += t), err: (t: string) => (err += t), cwd: '/', env: {}, isTerminal: false }
  const code = await run([...argv], io)
  return { code, out, err }
}

test('every error can be explained, by its number alone or as it was printed', async () => {
  const { cause, check, do: todo } = ADVICE.KN1120 ?? expect.unreachable()
  for (const word of ['KN1120', '1120', 'kn1120:']) {
    const { out, code } = await runCli(['explain', word])
    expect(code).toBe(0)
    expect(out).toContain(`Cause: ${cause}\nCheck: ${check}\nDo: ${todo}\n`)
  }
})

test('a reason in a status is explained with what ends it and its runbook', async () => {
  const { out, code } = await runCli(['explain', 'ProgramsNotServed'])
  expect(code).toBe(0)
  expect(out).toContain(
    'Means: This hub runs no programs for its Clusters.\nEnds: when a commit sets spec.programs to None\n',
  )
  expect(out).toContain('docs/operations/runbooks/clusters.md')
  expect((await runCli(['explain', 'RateExceeded'])).out).toContain('Ends: by itself')
})

test('a word that is no number, and a number that is none, are answered with what to type', async () => {
  expect((await runCli(['explain', 'machine'])).err).toContain('kubectl explain machines')
  for (const none of ['1999', '01120'])
    expect((await runCli(['explain', none])).err).toContain('docs/reference/errors.md')
})
