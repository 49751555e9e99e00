// `kubenode rules backtest | review | suggest`: what a recorded history tells about rules.
import { Option } from 'commander'
import type { Command } from 'commander'
import { defined } from '#lib/defined.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { BacktestAsked } from '#forecast/backtest/show-backtest.ts'
import type { ReviewAsked } from '#forecast/review/show-review.ts'
import type { SuggestAsked } from '#forecast/review/show-suggest.ts'
import { wholeNumber } from '../../counted-option.ts'
import { outputOption } from '../../output.ts'
import { withHistory } from '../../fleet/history-options.ts'
import { weakCageNote, weakCageOption } from '../../weak-cage.ts'

export function registerRulesOfPast(rules: Command, io: Io): void {
  registerBacktest(rules, io)
  registerReview(rules, io)
  registerSuggest(rules, io)
}

/** How much is read when --since is left out. */
const BACKTESTED = '30d'
const REVIEWED = '90d'

/** Which part of which history. */
const overPast = (command: Command, usual: string): Command =>
  withHistory(command)
    .option(
      '--since <time>',
      `from when: a time, a day, or how long before the end of the history; ${usual} before --until when left out`,
    )
    .option('--until <time>', 'until when, in the same words; the end of the history when left out')
    .option('--cluster <name>', 'cluster of the history; the only one when left out')

type BacktestOptions = Omit<BacktestAsked, 'weakCageNote' | 'failOn' | 'usual'> & {
  readonly failOn?: readonly string[]
}

/** Twenty show a spread; more take longer than a pull request waits. */
const SEEDS = 20
const MOST_SEEDS = 100

function registerBacktest(rules: Command, io: Io): void {
  overPast(rules.command('backtest'), BACKTESTED)
    .description('replay a recorded history under two versions of rules and policies, and compare what they ask for')
    .option('--fleet-cluster <name>', 'its name in the fleet, where it differs, as after --redact')
    .option('--base <rev>', 'compare with the rules of this commit; with those that the history recorded when left out')
    .addOption(new Option('--base-rules <file>', 'compare with the rules and policies of this file').conflicts('base'))
    .option('--commit <rev>', 'the commit whose rules are judged', 'HEAD')
    .option('--dirty', 'judge the edits of the work tree as if they were committed')
    .addOption(new Option('--rules <file>', 'judge the rules and policies of this file').conflicts(['commit', 'dirty']))
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(
      new Option(
        '--seeds <number>',
        'runs of the closed loop, in which repairs help as often as they did; 0 leaves it out',
      )
        .argParser(wholeNumber(0, MOST_SEEDS))
        .default(SEEDS),
    )
    .option(
      '--fail-on <condition>',
      "exit with 1 when it is true, as in 'added.reboots > 5 or needless.share > 10%'; repeatable",
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    )
    .option('--no-gates', 'leave out the shipped conditions')
    .addOption(outputOption(['text', 'json', 'markdown', 'junit']).default('text'))
    .addOption(weakCageOption())
    .action(async ({ failOn = [], ...options }: BacktestOptions) => {
      const [{ showBacktest }, { withReaders }] = await Promise.all([
        import('#forecast/backtest/show-backtest.ts'),
        import('../../fleet/histories.ts'),
      ])
      await showBacktest(
        { ...options, failOn, weakCageNote, usual: BACKTESTED },
        (use) => withReaders(defined({ history: options.history }), io, use),
        io,
      )
    })
}

type ReviewOptions = Omit<ReviewAsked, 'weakCageNote' | 'usual'>

function registerReview(rules: Command, io: Io): void {
  overPast(rules.command('review'), REVIEWED)
    .description('find rules that never fire, fire needlessly or do not help, and conditions without a rule')
    .option('--fleet-cluster <name>', 'its name in the fleet, where it differs, as after --redact')
    .option('--commit <rev>', 'compare with the monitors that the fleet declares in this commit')
    .option('--dirty', 'compare with the monitors of the work tree')
    .option('--repo <dir>', 'the repository; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(outputOption(['text', 'json', 'markdown']).default('text'))
    .addOption(weakCageOption())
    .action(async (options: ReviewOptions) => {
      const [{ showReview }, { withReaders }] = await Promise.all([
        import('#forecast/review/show-review.ts'),
        import('../../fleet/histories.ts'),
      ])
      await showReview(
        { ...options, weakCageNote, usual: REVIEWED },
        (use) => withReaders(defined({ history: options.history }), io, use),
        io,
      )
    })
}

function registerSuggest(rules: Command, io: Io): void {
  overPast(rules.command('suggest'), REVIEWED)
    .description('draft rules for what people repaired by hand again and again; applies nothing')
    .addOption(outputOption(['text', 'json', 'rules']).default('text'))
    .action(async (options: Omit<SuggestAsked, 'usual'>) => {
      const [{ showSuggest }, { withReaders }] = await Promise.all([
        import('#forecast/review/show-suggest.ts'),
        import('../../fleet/histories.ts'),
      ])
      await showSuggest(
        { ...options, usual: REVIEWED },
        (use) => withReaders(defined({ history: options.history }), io, use),
        io,
      )
    })
}
