// `npm run live`: one host in a real account, from its creation to its end. It refuses to run unless KUBENODE_LIVE names the vendor and the region too.
import { systemClock } from '#lib/system-clock.ts'
import { createAlicloudProvider } from '#providers/alicloud/provider.ts'
import { createAwsProvider } from '#providers/aws/provider.ts'
import { livePlan } from './plan.ts'
import { liveRun } from './run.ts'

const plan = livePlan(process.argv.slice(2), process.env)
const say = (line: string) => void process.stdout.write(`${line}\n`)
if (plan.kind === 'Refused') {
  say(plan.why)
  process.exitCode = 2
} else {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort(new Error(`ended by ${name}`)))
  const { vendor, region, cluster } = plan
  const tools = { clock: systemClock, env: process.env, userData: () => '#cloud-config\n{}\n' }
  const options = { region, cluster, credentials: 'Environment' } as const
  const provider = vendor === 'aws' ? createAwsProvider(options, tools) : createAlicloudProvider(options, tools)
  const { failed, left } = await liveRun(plan, { provider, clock: systemClock, say, signal: stop.signal })
  process.exitCode = failed.length + left.length > 0 ? 1 : 0
}
