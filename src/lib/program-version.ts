// The version of everything that ships together: controllers, agent, commands. Only the package defines it; a bundle includes it.
import manifest from '../../package.json' with { type: 'json' }

export const VERSION: string = manifest.version
