import { expect, test } from 'vitest'
import { run } from '../program.ts'

async function told(...argv: readonly string[]): Promise<string> {
  let err = ''
  const io = {
    out: () => undefined,
    err: (t: string) => void (err += t),
    cwd: '/nonexistent',
    env: {},
    isTerminal: false,
  }
  expect(await run(argv, io)).toBe(2)
  return err
}

test.each([
  [['machines', '-o', 'jsonpath={.items[0].kind}'], "machines.kubenode.io -o 'jsonpath={.items[0].kind}'"],
  [['km', 'a', 'b', '-o', 'custom-columns=N:.kind'], 'machines.kubenode.io a b -o custom-columns=N:.kind'],
  [['machine/a', 'node/b', '-o', 'jsonpath'], 'machines.kubenode.io/a nodes/b -o jsonpath=TEMPLATE'],
  [['nodes,km', '--sort-by', '.metadata.name'], 'nodes,machines.kubenode.io --sort-by .metadata.name'],
  [['sources', '--sort-by=.a', '-o', 'wide'], 'fleetsources.kubenode.io -n kubenode-system --sort-by .a -o wide'],
  [['releases', '-A', '-o', 'go-template={{.x}}'], "releases.kubenode.io -A -o 'go-template={{.x}}'"],
  [
    ['-n', 'x', '--context', 'hub', 'releases', '-l', "a=b'c", '--no-headers', '-w', '--sort-by', '.a'],
    "releases.kubenode.io --context hub -n x -l 'a=b'\\''c' --sort-by .a --no-headers -w",
  ],
])('kubenode get %j is answered with the line of kubectl, without a server', async (argv, line) => {
  expect(await told('get', ...argv)).toMatch(new RegExp(`^KN1002: .*; type kubectl get ${RegExp.escape(line)}\\n`))
})
