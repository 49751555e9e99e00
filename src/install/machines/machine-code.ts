// Machines as TypeScript for a fleet repository. Pure. Every value is written as JSON, so nothing in a name or label can become code.
import type { Machine } from '#api/kinds/machine.ts'

export const machineCode = (machines: readonly Machine[]): string =>
  [
    `import { Machine } from 'kubenode/constructs'`,
    `import type { Chart } from 'cdk8s'`,
    '',
    '// Of the hub or of a cluster: call it with the chart of the cluster that has these Nodes.',
    'export function declareImported(chart: Chart): void {',
    ...machines.flatMap(({ metadata: { name = '', annotations, labels }, spec }) => [
      `  new Machine(chart, ${JSON.stringify(name)}, ${indented({ metadata: { name, annotations, labels }, spec })})`,
    ]),
    '}',
    '',
  ].join('\n')

const indented = (value: object): string => JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')
