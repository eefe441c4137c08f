#include "bench/perf/plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/perf/figures.hpp"
#include "bench/perf/html.hpp"

namespace lastref::perf {
namespace {

// In units of the picture, which are pixels unless the picture is scaled down.
constexpr double width = 920;
constexpr double height = 250;
constexpr double left = 70;
constexpr double right = 14;
constexpr double bottom = 30;
constexpr double letter = 7;  // the maximum width of our letters, at 12 pixels

/// At most `size` bytes of the text, without cutting a character.
std::string cut(std::string text, std::size_t size) {
  constexpr unsigned kind = 0xC0;
  constexpr unsigned goes_on = 0x80;  // utf-8(7)
  if (text.size() > size) {
    while (size > 0 && (static_cast<unsigned char>(text[size]) & kind) == goes_on) {
      --size;
    }
    text.resize(size);
  }
  return text;
}

class Plot {
 public:
  explicit Plot(const Series& series) : series_(series), top_(series.changes.empty() ? 32 : 44) {
    least_ = series.points.front().seconds;
    most_ = least_;
    for (const Point& point : series.points) {
      least_ = std::min(least_, point.seconds);
      most_ = std::max(most_, point.seconds);
    }
    // An interval that is much longer than the range of the medians would make them a flat line. On
    // the other hand, noise of 1 % should not look large.
    const double room = std::max(most_ - least_, most_ * 0.05);
    const Within<double> medians{.least = least_, .most = most_};
    for (const Point& point : series.points) {
      least_ = std::max(std::min(least_, point.within.least), medians.least - room);
      most_ = std::min(std::max(most_, point.within.most), medians.most + room);
    }
    least_ = std::max(least_ - room * 0.15, 0.0);
    most_ += room * 0.15;
    if (most_ <= least_) {
      most_ = least_ + 1e-9;  // All times are 0.
    }
    unit_ = unit_for(most_);
  }

  std::string draw() {
    begin();
    draw_axes();
    draw_levels();
    draw_points();
    draw_changes();
    return text_ + "</svg>\n";
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    text_ += fmt::format(form, std::forward<Values>(values)...);
  }

  double x_of(double index) const {
    const auto steps = static_cast<double>(std::max<std::size_t>(series_.points.size(), 2) - 1);
    const double margin = 12;
    const double middle = series_.points.size() == 1 ? 0.5 : 0;
    return left + margin + (width - left - right - 2 * margin) * (index / steps + middle);
  }
  double x_of(std::size_t index) const { return x_of(static_cast<double>(index)); }

  double y_of(double seconds) const {
    const double share = (seconds - least_) / (most_ - least_);
    return height - bottom - (height - top_ - bottom) * share;
  }

  void begin() {
    const Point& last = series_.points.back();
    add("<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}: {} over {} "
        "commits, "
        "{} of them change points\">\n",
        width,
        height,
        html(series_.benchmark),
        time_figure(last.seconds, last.within),
        series_.points.size(),
        series_.changes.size());
  }

  void draw_axes() {
    for (const double tick : ticks_between(least_ / unit_.seconds, most_ / unit_.seconds)) {
      const double y = y_of(tick * unit_.seconds);
      add("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.6g}</text>\n",
          left,
          width - right,
          y,
          y,
          left - 8,
          y + 4,
          tick);
    }
    add("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
        left - 8,
        top_ - 16,
        unit_.name);
    draw_commits();
  }

  /// Draws names of commits below the plot: the first and the last, those with changes, and as many
  /// others as have room.
  void draw_commits() {
    std::vector<std::size_t> wanted = {0, series_.points.size() - 1};
    for (const ChangePoint& change : series_.changes) {
      wanted.push_back(change.index);
    }
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      wanted.push_back(i);
    }
    std::vector<Within<double>> taken;
    for (const std::size_t index : wanted) {
      const std::string name = cut(short_commit(series_.points[index].commit.name), 16);
      const double half = static_cast<double>(name.size()) * letter / 2 + 6;
      // At the edges the name moves inwards.
      const double x = std::clamp(x_of(index), half, width - half);
      const Within<double> room{.least = x - half, .most = x + half};
      if (!is_free(room, taken)) {
        continue;
      }
      taken.push_back(room);
      add("<line class=\"axis\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>"
          "<text class=\"tick commit\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
          x_of(index),
          x_of(index),
          height - bottom,
          height - bottom + 5,
          x,
          height - bottom + 20,
          html(name));
    }
    add("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n",
        left,
        width - right,
        height - bottom,
        height - bottom);
  }

  static bool is_free(const Within<double>& room, const std::vector<Within<double>>& taken) {
    return std::ranges::none_of(taken, [&](const Within<double>& other) {
      return room.least < other.most && other.least < room.most;
    });
  }

  /// Draws the means between change points. Without any, a line would add nothing to the points.
  void draw_levels() {
    for (std::size_t i = 0; i < series_.changes.size(); ++i) {
      const ChangePoint& change = series_.changes[i];
      const bool is_last = i + 1 == series_.changes.size();
      const std::size_t end = is_last ? series_.points.size() : series_.changes[i + 1].index;
      if (i == 0) {
        draw_level(0, change.index, change.before);
      }
      draw_level(change.index, end, change.after);
    }
  }

  void draw_level(std::size_t begin, std::size_t end, double seconds) {
    add("<line class=\"level\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
        x_of(begin),
        x_of(end - 1),
        y_of(seconds),
        y_of(seconds));
  }

  void draw_points() {
    std::string line;
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      line += fmt::format("{:.1f},{:.1f} ", x_of(i), y_of(series_.points[i].seconds));
    }
    add("<polyline class=\"trend\" points=\"{}\"/>\n", line);
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      const Point& point = series_.points[i];
      const double x = x_of(i);
      add("<g class=\"point\"><title>{} {}\n{}, {} repetitions, load {:.2f}</title>",
          html(short_commit(point.commit.name)),
          html(point.commit.subject),
          time_figure(point.seconds, point.within),
          point.repetitions,
          point.load);
      const double low = y_of(std::max(point.within.least, least_));
      const double high = y_of(std::min(point.within.most, most_));
      add("<line class=\"interval\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
          x,
          x,
          low,
          high);
      if (point.within.most > most_) {
        add("<path class=\"cut\" d=\"M{:.1f} {} l4 7 h-8 z\"/>", x, top_ - 7);
      }
      if (point.within.least < least_) {
        add("<path class=\"cut\" d=\"M{:.1f} {} l4 -7 h-8 z\"/>", x, height - bottom);
      }
      add("<circle class=\"median\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/></g>\n",
          x,
          y_of(point.seconds));
    }
  }

  /// Draws a line between the commits, a band for the other places where the change may be, and how
  /// large it is. A label without room is left out: the table below has all of them.
  void draw_changes() {
    std::vector<Within<double>> rows[2];
    for (const ChangePoint& change : series_.changes) {
      const char* const kind = change.ratio > 1 ? "slower" : "faster";
      const double x = x_of(static_cast<double>(change.index) - 0.5);
      const double from = x_of(static_cast<double>(change.place.least) - 1);
      const double to = x_of(change.place.most);
      add("<g class=\"change {}\"><title>{} at {}</title>"
          "<rect class=\"band\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"/>"
          "<line class=\"mark\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>",
          kind,
          change_figure(change.ratio, change.ratio_within),
          html(short_commit(series_.points[change.index].commit.name)),
          from,
          top_,
          to - from,
          height - top_ - bottom,
          x,
          x,
          top_ - 2,
          height - bottom);
      const std::string label =
          fmt::format("{} {}", change.ratio > 1 ? "▲" : "▼", change_figure(change.ratio));
      const double half = static_cast<double>(label.size()) * letter / 2 + 4;
      const double middle = std::clamp(x, left + half, width - right - half);
      const Within<double> room{.least = middle - half, .most = middle + half};
      for (std::size_t row = 0; row < std::size(rows); ++row) {
        if (is_free(room, rows[row])) {
          rows[row].push_back(room);
          add("<text class=\"label\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
              middle,
              top_ - 8 - 17 * static_cast<double>(row),
              label);
          break;
        }
      }
      text_ += "</g>\n";
    }
  }

  const Series& series_;
  double top_ = 0;    // above the plot there is room for two rows of labels, if there are any
  double least_ = 0;  // seconds at the bottom and at the top
  double most_ = 0;
  TimeUnit unit_;
  std::string text_;
};

}  // namespace

std::vector<double> ticks_between(double least, double most) {
  const double rough = (most - least) / 5;
  if (!(rough > 0) || !std::isfinite(rough)) {
    return {least};
  }
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) {
      step = factor * power;
    }
  }
  std::vector<double> ticks;
  const auto first = static_cast<long>(std::ceil(least / step - 1e-9));
  const auto last = static_cast<long>(std::floor(most / step + 1e-9));
  for (long tick = first; tick <= last; ++tick) {
    ticks.push_back(static_cast<double>(tick) * step);
  }
  return ticks;
}

std::string plot_of(const Series& series) {
  return Plot(series).draw();
}

}  // namespace lastref::perf
