// The careful policy that decides where no enforced DefenderPolicy does. Data only: what a newcomer gets without writing anything.
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'

/** No object can have this name, so it is never confused with a policy that a user wrote. */
export const BUILTIN_POLICY_NAME = '(built-in)'

/**
 * One in ten machines may be out at a time (one at least, so that a small fleet can move at all), whatever the cause, and no more than
 * fifty are worked on at once. An hour touches two hundred machines at most and a minute thirty, so that a bad change is seen before it is
 * everywhere: a fleet of ten thousand then takes two days at its fastest. Three failures among the last ten results stop everything but recoveries.
 */
export const BUILTIN_POLICY: DefenderPolicySpec = {
  budgets: [
    { max: '10%', of: 'unavailable', per: 'cluster' },
    { max: 50, of: 'concurrent', per: 'cluster' },
    { max: 10, of: 'concurrent', per: 'rack' },
  ],
  rates: [
    { window: '1m', max: 30, per: 'cluster' },
    { window: '1h', max: 200, per: 'cluster' },
  ],
  breaker: { failures: 3, of: 10, window: '1h', halfOpenAfter: '15m', widen: 3 },
  mode: 'Enforce',
}
