/** Bars: what a queue uses of what it may, with guarantee and limit marked. */
import type { Meter } from "./amounts";

/** One bar for each resource. */
export function Meters({ meters }: { meters: Meter[] }) {
  return (
    <div className="meters">
      {meters.map((meter) => (
        <Bar key={meter.resource} meter={meter} />
      ))}
    </div>
  );
}

function Bar({ meter }: { meter: Meter }) {
  const { resource, used, borrowed, quota, guarantee, cap, words } = meter;
  const whole = Math.max(used, quota, cap, Number.MIN_VALUE);
  const share = (value: number) => `${(100 * value) / whole}%`;
  return (
    <div className="meter">
      <span className="meter-name">{resource}</span>
      <span
        className="meter-track"
        role="meter"
        aria-label={`${resource}: ${words}`}
        aria-valuemin={0}
        aria-valuemax={whole}
        aria-valuenow={used}
        title={words}
      >
        <span className="meter-quota" style={{ width: share(quota) }} />
        <span className="meter-used" style={{ width: share(used - borrowed) }} />
        {borrowed > 0 && <span className="meter-borrowed" style={{ left: share(used - borrowed), width: share(borrowed) }} />}
        {guarantee > 0 && <span className="meter-mark" style={{ left: share(guarantee) }} />}
      </span>
      <span className="meter-words num">{words}</span>
    </div>
  );
}
