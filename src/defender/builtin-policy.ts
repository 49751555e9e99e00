// The cautious policy that applies if no enforced DefenderPolicy does. Data only: what a newcomer gets without any configuration.
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'

/** No object can have this name, so it never collides with a user's policy. */
export const BUILTIN_POLICY_NAME = '(built-in)'

/**
 * At most one in ten machines may be unavailable, whatever the cause (but at least one, so that a small fleet can change at all), and at most fifty
 * are disrupted at once. At most two hundred machines change per hour and thirty per minute, so that a bad change is noticed before it is everywhere.
 * A fleet of ten thousand takes two days at that rate. On a hub, one control plane changes at a time. Three failures among the last ten results stop everything except recoveries.
 */
export const BUILTIN_POLICY: DefenderPolicySpec = {
  budgets: [
    { max: '10%', of: 'unavailable', per: 'cluster' },
    { max: 50, of: 'concurrent', per: 'cluster' },
    { max: 10, of: 'concurrent', per: 'rack' },
    { max: 1, of: 'concurrent', per: 'hub' },
  ],
  rates: [
    { window: '1m', max: 30, per: 'cluster' },
    { window: '1h', max: 200, per: 'cluster' },
  ],
  breaker: { failures: 3, of: 10, window: '1h', halfOpenAfter: '15m', widen: 3 },
  mode: 'Enforce',
}
