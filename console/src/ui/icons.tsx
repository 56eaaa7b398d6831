import type { ReactNode } from 'react';

/** Line icons of 20 pixels in the color of the text. They are decoration: the text beside or the label of the button names the thing. */
const icon = (paths: ReactNode) =>
  function Icon({ size = 20 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth={1.7}
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {paths}
      </svg>
    );
  };

export const OverviewIcon = icon(<path d="M4 20V10m5.5 10V4M15 20v-8m5 8V7" />);
export const PlaygroundIcon = icon(
  <path d="M12 3l1.9 5.6L19.5 10.5l-5.6 1.9L12 18l-1.9-5.6-5.6-1.9 5.6-1.9zM19 17v4m-2-2h4" />,
);
export const TasksIcon = icon(<path d="M10 6h10M10 12h10M10 18h10M4 6l1 1 2-2M4 12l1 1 2-2M4 18l1 1 2-2" />);
export const RequestsIcon = icon(<path d="M4 5h16v11H10l-4 4v-4H4zM8 9h8M8 12h5" />);
export const ModelsIcon = icon(<path d="M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5" />);
export const PlansIcon = icon(<path d="M12 3h8v8l-9 10-8-8zM16 8h.01" />);
export const ChannelsIcon = icon(
  <path d="M6 3v6a4 4 0 0 0 4 4h4a4 4 0 0 1 4 4v4M6 21v-4a4 4 0 0 1 4-4M18 3v3M15.5 5.5L18 3l2.5 2.5" />,
);
export const ProjectsIcon = icon(
  <path d="M4 6a2 2 0 0 1 2-2h4l2 3h6a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2z" />,
);
export const DeliveriesIcon = icon(<path d="M21 4L3 11l6.5 2.5L12 20z M9.5 13.5L21 4" />);
export const AuditIcon = icon(<path d="M7 3h8l4 4v14H7zM15 3v4h4M10 12h6M10 16h6" />);
export const ScheduledJobsIcon = icon(
  <>
    <circle cx="12" cy="12" r="9" />
    <path d="M12 7v5l3 2" />
  </>,
);
export const SummariesIcon = icon(<path d="M4 5h16v14H4zM4 10h16M4 15h16M10 5v14" />);
export const UsageIcon = icon(<path d="M4 4v16h16M8 16v-3m4 3V8m4 8v-5" />);
export const AccessIcon = icon(
  <>
    <circle cx="8" cy="15" r="4" />
    <path d="M11 12l8-8M15 8l3 3" />
  </>,
);
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5" />
  </>,
);
export const MoonIcon = icon(<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a6.6 6.6 0 0 0 10.5 10.5z" />);
export const LogoutIcon = icon(<path d="M14 4H6v16h8M10 12h11m-4-4l4 4-4 4" />);
export const MoreIcon = icon(<path d="M5 12h.01M12 12h.01M19 12h.01" strokeWidth={3} />);
export const AlertIcon = icon(<path d="M12 4l9 16H3zM12 10v4m0 3v.01" />);
export const CheckIcon = icon(<path d="M5 12l5 5L20 7" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const DownloadIcon = icon(<path d="M12 4v11m-4-4l4 4 4-4M4 20h16" />);
export const SendIcon = icon(<path d="M12 20V5m-6 6l6-6 6 6" />);
export const StopIcon = icon(<path d="M7 7h10v10H7z" fill="currentColor" />);
export const RefreshIcon = icon(
  <path d="M20 11a8 8 0 0 0-14.5-3.5L4 9m0-5v5h5M4 13a8 8 0 0 0 14.5 3.5L20 15m0 5v-5h-5" />,
);
export const CloseIcon = icon(<path d="M6 6l12 12M18 6L6 18" />);
export const CopyIcon = icon(<path d="M9 9h11v11H9zM5 15H4V4h11v1" />);
