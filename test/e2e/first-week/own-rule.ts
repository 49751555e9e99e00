// A user's own rule, written as documented: the rule, its cases beside it, and a line that declares it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { coreKind } from '#kube/core-kinds.ts'
import { timestamp } from '#lib/clock.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { edit, replaced } from './lamp.ts'

export interface OwnRule {
  /** `dark` becomes rule `dark` in rules/own/dark.ts. */
  readonly name: string
  /** A condition that a detector of one's own reports. */
  readonly condition: string
  readonly component: string
}

const ruleText = ({
  name,
  condition,
  component,
}: OwnRule): string => `// Restarts ${component} when ${condition} is reported.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const ${name}: NodeRemedierInput['spec'] = {
  when: { all: [{ fact: 'conditions', path: '/${condition}/status', operator: 'equal', value: 'True' }] },
  ladder: [
    {
      operations: [{ restartComponent: { component: '${component}' } }],
      timeout: '1m',
      retries: 0,
      verify: { conditionCleared: '${condition}', stableFor: '2s' },
    },
  ],
  cooldown: '1s',
}
`

const casesText = ({
  name,
  condition,
}: OwnRule): string => `// When the rule for ${condition} fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { ${name} } from './${name}.ts'

export const rule = ${name}

export const cases: readonly RuleCase[] = [
  { name: 'reported', conditions: [{ type: '${condition}', status: 'True', reason: 'Own' }], verdict: 'fires' },
  { name: 'absent', conditions: [{ type: '${condition}', status: 'False', reason: 'Own' }], verdict: 'does not fire' },
]
`

/** The caller commits. */
export function addRule(repository: string, rule: OwnRule): void {
  const { name } = rule
  mkdirSync(join(repository, 'rules/own'), { recursive: true })
  writeFileSync(join(repository, `rules/own/${name}.ts`), ruleText(rule))
  writeFileSync(join(repository, `rules/own/${name}.cases.ts`), casesText(rule))
  edit(join(repository, 'fleet/machines/rules.ts'), (text) =>
    replaced(
      replaced(
        text,
        /^import versions .*$/m,
        (line) => `import { ${name} } from '../../rules/own/${name}.ts'\n${line}`,
      ),
      /^ {2}new DefenderPolicy\(.*$/m,
      (line) => `${line}\n  new NodeRemedier(chart, '${name}', { spec: ${name} })`,
    ),
  )
}

const nodeType = coreKind('Node')

/** As a detector of one's own reports it. */
export async function report(
  client: HttpKubeClient,
  node: string,
  type: string,
  status: 'True' | 'False',
): Promise<void> {
  const at = timestamp(Date.now())
  const condition = { type, status, reason: 'Own', message: '', lastTransitionTime: at, lastHeartbeatTime: at }
  const value = { status: { conditions: [condition] } }
  await client.patch(nodeType, { name: node }, { type: 'strategic', value }, { subresource: 'status' })
}
